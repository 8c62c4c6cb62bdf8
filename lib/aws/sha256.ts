import { createHash, createHmac, createSecretKey, type KeyObject } from "node:crypto";

type Secret = string | ArrayBuffer | ArrayBufferView;

/** The key objects of secrets in bytes: the SDK keeps the signing key of a day. */
const keys = new WeakMap<object, KeyObject>();

/**
 * SHA-256, and HMAC with a secret, for the SDK's signatures. The SDK's own class copies each hash before its digest, and
 * makes a key object of the signing key for each request: that is a tenth of a call's CPU.
 */
export class Sha256 {
  readonly #hash;

  constructor(secret?: Secret) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", keyOf(secret));
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  /** A signer never reuses one. */
  reset(): never {
    throw new Error("A digest has been made of this hash");
  }
}

function keyOf(secret: Secret): KeyObject | string {
  if (typeof secret === "string") return secret;
  const key = keys.get(secret) ?? createSecretKey(bytesOf(secret));
  keys.set(secret, key);
  return key;
}

const bytesOf = (data: ArrayBuffer | ArrayBufferView): Buffer =>
  ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data);
