import { recover } from 'tiny-secp256k1';
import { encodeFunctionData, keccak256, parseAbi } from 'viem/utils';
import { sha256 } from '../canonical-json.ts';
import { type Hex, isHex, toBytes, toHex } from '../hex.ts';
import { callContract, type StateBlock } from './reads.ts';
import { type Rpc, RpcFailure } from './rpc.ts';

const abi = parseAbi(['function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)']);
const ACCEPTED = 0x1626ba7en << 224n;
const GAS_CAP = 500_000;
const DEADLINE_MS = 2_000;
/** Covers the program around the call, the call data, and the 1/64 of the gas that the EVM withholds from a call. */
const OUTER_GAS = 3_000_000n;
/** The EVM allows 49,152 bytes of init code. */
const CALL_LIMIT_BYTES = 40_000;

export interface WalletQuestion {
  wallet: Hex;
  digest: Hex;
  /** Hex in lower case. */
  signature: Hex;
}

/**
 * Asks a contract wallet whether the signature is valid (EIP-1271). Returns false if the wallet rejects it, reverts, runs out of gas,
 * returns malformed data or has no code, or if the signature is too long for one call. Throws `RpcFailure` only if the node cannot answer.
 */
export async function checkContractSignature(
  rpc: Rpc,
  { wallet, digest, signature }: WalletQuestion,
  options: { block?: StateBlock; deadlineMs?: number } = {},
): Promise<boolean> {
  const call = encodeFunctionData({ abi, functionName: 'isValidSignature', args: [digest, signature] });
  if (call.length / 2 > CALL_LIMIT_BYTES) return false;
  const answer = await callContract(
    rpc,
    { data: guardedCall(wallet, call), gas: OUTER_GAS },
    options.block ?? 'latest',
    {
      deadlineMs: options.deadlineMs ?? DEADLINE_MS,
    },
  );
  if (answer.length !== 2 + 3 * 64) {
    throw new RpcFailure('malformed', `eth_call at ${rpc.endpoint}: isValidSignature answers out of form`);
  }
  const [succeeded, size, word] = [0, 1, 2].map((at) => BigInt(`0x${answer.slice(2 + 64 * at, 66 + 64 * at)}`));
  return succeeded === 1n && size !== undefined && size >= 32n && word === ACCEPTED;
}

/**
 * Builds a program that eth_call runs as the init code of a new contract. It calls the wallet and returns three words: success, size of the
 * answer, first word of the answer. This distinguishes a failing wallet from a failing node without parsing error texts, which vary between
 * nodes. The wallet cannot write, use more than its share of gas, or answer with megabytes.
 */
function guardedCall(wallet: Hex, call: Hex): Hex {
  const size = ((call.length - 2) / 2).toString(16).padStart(4, '0');
  const gas = GAS_CAP.toString(16).padStart(6, '0');
  const program = (start: string): string =>
    [
      // codecopy(0x60, start, size): the call data follows this program.
      `61${size}60${start}606039`,
      // staticcall(gas, wallet, 0x60, size, 0x40, 0x20): the first word of the answer goes to memory that nothing else has written.
      `6020604061${size}606073${wallet.slice(2)}62${gas}fa`,
      // mstore(0, success); mstore(0x20, returndatasize); return(0, 0x60)
      '6000523d60205260606000f3',
    ].join('');
  const length = (program('00').length / 2).toString(16).padStart(2, '0');
  return `0x${program(length)}${call.slice(2)}`;
}

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/**
 * Requires 65 bytes, r and s in range, s in the lower half, v 27 or 28, hex in lower case. Each signature has a twin with the other s that
 * recovers to the same address. The token rejects the twin, so we must too.
 */
export function isCanonicalSignature(signature: unknown): signature is Hex {
  if (!isHex(signature, 65)) return false;
  const r = BigInt(signature.slice(0, 66));
  const s = BigInt(`0x${signature.slice(66, 130)}`);
  const v = signature.slice(130);
  return r > 0n && r < CURVE_ORDER && s > 0n && s <= CURVE_ORDER / 2n && (v === '1b' || v === '1c');
}

const REMEMBERED = 2_000;
/** Keyed by a hash, so that no signature is kept in memory. A signature always recovers to the same address. */
const recovered = new Map<string, Hex | null>();

/**
 * Returns null if the signature is not canonical, or no key can have made it. Caches results, because recovery is by far the most expensive
 * computation of a payment and every step checks the signature again.
 */
export async function recoverSigner(digest: Hex, signature: Hex): Promise<Hex | null> {
  if (!isCanonicalSignature(signature)) return null;
  const key = sha256(digest, signature).toString('base64');
  const cached = recovered.get(key);
  if (cached !== undefined) return cached;
  const signer = recoverAddress(digest, signature);
  const [oldest] = recovered.keys();
  if (recovered.size >= REMEMBERED && oldest !== undefined) recovered.delete(oldest);
  recovered.set(key, signer);
  return signer;
}

/** Uses a WebAssembly build of libsecp256k1, which is about six times as fast as JavaScript. */
function recoverAddress(digest: Hex, signature: Hex): Hex | null {
  const bytes = toBytes(signature);
  try {
    const key = recover(toBytes(digest), bytes.subarray(0, 64), (bytes[64] ?? 0) % 27 === 0 ? 0 : 1, false);
    // An address is the last 20 bytes of the hash of the public key, without the key's format byte.
    return key === null ? null : toHex(keccak256(key.subarray(1), 'bytes').subarray(12));
  } catch {
    // r is not on the curve. Nothing else can throw here, because the form was checked.
    return null;
  }
}
