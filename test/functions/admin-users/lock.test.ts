import { testLocks } from "../../support/lock-endpoints.ts";

testLocks("users");
