import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Packaged } from "../../../infra/build/package.ts";
import { functions } from "../stacks/synthesis.ts";

/** Offset and value of the machine in an ELF header: AArch64. */
const machineOffset = 18;
const aarch64 = 0xb7;

const filesOf = ({ file }: Packaged) => readdir(dirname(file), { recursive: true });

describe("The packages", () => {
  it("of image updates ship sharp, in the build for Lambda's arm64 and no other", async () => {
    const shipping = functions.filter(({ processesImages }) => processesImages);

    expect(shipping.map(({ name }) => name)).toEqual(["admin-contributors-update-avatar", "admin-users-update-image"]);
    for (const each of shipping) {
      const native = (await filesOf(each)).filter((file) => /\.(node|so(\.[\d.]+)?)$/.test(file));
      expect(native).toHaveLength(2);
      for (const file of native) {
        const header = (await readFile(join(dirname(each.file), file))).subarray(0, 20);
        expect(header.toString("latin1", 1, 4)).toBe("ELF");
        expect([file, header.readUInt16LE(machineOffset)]).toEqual([file, aarch64]);
      }
    }
  });

  it("of all others hold their bundle and its map, and not a byte of sharp", async () => {
    for (const each of functions.filter(({ processesImages }) => !processesImages)) {
      expect([each.name, ...(await filesOf(each)).sort()]).toEqual([each.name, "index.mjs", "index.mjs.map"]);
    }
  });
});
