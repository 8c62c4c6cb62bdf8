import { describe } from "vitest";
import { useUploads } from "../support/uploads.ts";
import { testAuthority } from "./every-endpoint/authority.ts";
import { testBadInput } from "./every-endpoint/bad-input.ts";
import { testBodySize } from "./every-endpoint/body-size.ts";
import { testHead } from "./every-endpoint/head.ts";
import { testMissingParameters } from "./every-endpoint/missing-parameters.ts";
import { testRepeatedParameters } from "./every-endpoint/repeated-parameters.ts";

/* What all endpoints do alike, sent to each of them, so that their functions are loaded once. */

const stack = useUploads({ from: "demo" });

describe("Authority", () => testAuthority(stack));
describe("Bad input", () => testBadInput(stack));
describe("Missing parameters", () => testMissingParameters(stack));
describe("Repeated parameters", () => testRepeatedParameters(stack));
describe("Head", () => testHead(stack));
describe("Body size", () => testBodySize(stack));
