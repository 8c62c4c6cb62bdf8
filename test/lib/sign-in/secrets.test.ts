import { PutSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { signInArns } from "../../../infra/local/secrets.ts";
import { useStack } from "../../support/stack.ts";

useStack({ signIn: [] });

const client = new SecretsManagerClient();
let secrets: typeof import("../../../lib/sign-in/secrets.ts");
// It takes the address of Secrets Manager when it is loaded.
beforeAll(async () => {
  secrets = await import("../../../lib/sign-in/secrets.ts");
});

const put = (SecretString: string) =>
  client.send(new PutSecretValueCommand({ SecretId: signInArns.client, SecretString }));
const read = () => secrets.readSecret(signInArns.client, performance.now() + 10_000);
const minute = 60_000;

afterEach(() => vi.useRealTimers());

describe("A secret of sign-in", () => {
  it("is read again after five minutes, since operators may have changed it", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    await put("first\n");
    expect(await read()).toBe("first");
    await put("second");

    vi.setSystemTime(Date.now() + 5 * minute - 1);
    expect(await read()).toBe("first");
    vi.setSystemTime(Date.now() + 1);
    expect(await read()).toBe("second");
  });

  it("is read again at once when the provider has refused it", async () => {
    await put("third");
    secrets.forgetSecret(signInArns.client);

    expect(await read()).toBe("third");
  });
});
