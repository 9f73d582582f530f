import { AUTHORIZATION_TYPES } from '../../src/contract/authorization-types.ts';
import type { Reason } from '../../src/contract/errors.ts';
import { NETWORKS } from '../../src/contract/vocabulary.ts';
import { type TestAccount, testAccount, usdcDomain, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import type { Authorization, TokenDomain } from '../../src/platform/chain/shapes.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type Hex, isHex } from '../../src/platform/hex.ts';
import { type ProofTerms, type SignedProof, signProof, wrapProof } from '../support/market-world.ts';

/** The terms that a request for payment states. */
export interface PayAt {
  chain: LocalChain;
  terms: ProofTerms & { resource: string };
}

type Headers = Record<string, string | string[]>;

export interface BadProof {
  what: string;
  reason: Reason;
  /** Builds the headers of one or more requests, each of which must be refused with `reason`. */
  make(at: PayAt): Promise<Headers[]>;
}

const payer = WORLD_ACCOUNTS.buyerTwo;
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

const header = ({ header: name, value }: SignedProof['v1']): Headers => ({ [name]: value });
const both = ({ v1, v2 }: SignedProof): Headers[] => [header(v1), header(v2)];
const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64');
const inEither = (value: string): Headers[] => [{ 'x-payment': value }, { 'payment-signature': value }];

const good = (at: PayAt): Promise<SignedProof> => signProof(at.chain, payer, at.terms);

/** Signs terms that differ from the requested ones. The payer's signature is valid. */
function signedFor(what: string, signed: (at: PayAt) => Partial<Authorization>): BadProof {
  const make = async (at: PayAt) => both(await signProof(at.chain, payer, { ...at.terms, signed: signed(at) }));
  return { what, reason: 'payment_invalid', make };
}

const soon = (seconds: number) => BigInt(Math.floor(systemClock.now() / 1000) + seconds);

const otherTerms: BadProof[] = [
  signedFor('an authorization that pays another payee', () => ({ to: WORLD_ACCOUNTS.stranger.address })),
  signedFor('an authorization that pays the payer', () => ({ to: payer.address })),
  signedFor('a unit too little', ({ terms }) => ({ value: terms.units - 1n })),
  signedFor('a unit too much', ({ terms }) => ({ value: terms.units + 1n })),
  signedFor('nothing', () => ({ value: 0n })),
  signedFor('more than a number may hold', ({ terms }) => ({ value: terms.units + (1n << 64n) })),
  signedFor('an authorization that expired', () => ({ validBefore: soon(-1) })),
  signedFor('an authorization that never was valid', () => ({ validBefore: 0n })),
  signedFor('an authorization that expires at once', () => ({ validBefore: soon(15) })),
  signedFor('an authorization that lives too long', () => ({ validBefore: soon(700) })),
  signedFor('an authorization that lives for ever', () => ({ validBefore: 999_999_999_999_999n })),
  signedFor('an authorization that is not valid yet', () => ({ validAfter: soon(60) })),
];

type Json = { [field: string]: Json } & Record<string, unknown>;

/** Changes an unsigned field of a valid proof. */
function changedProof(
  what: string,
  reason: Reason,
  version: 'v1' | 'v2' | 'both',
  change: (proof: Json) => void,
): BadProof {
  const make = async (at: PayAt) => {
    const proof = await good(at);
    return (version === 'both' ? [proof.v1, proof.v2] : [proof[version]]).map((sent) => {
      const json = JSON.parse(Buffer.from(sent.value, 'base64').toString());
      change(json);
      return { [sent.header]: base64(JSON.stringify(json)) };
    });
  };
  return { what, reason, make };
}

function setPath(path: string, value: unknown): (proof: Json) => void {
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  return (proof) => {
    const place = steps.reduce<Json>((at, step) => at[step] as Json, proof);
    if (value === undefined) delete place[last];
    else (place as Record<string, unknown>)[last] = value;
  };
}

const otherWords: BadProof[] = [
  ...['base-sepolia', 'eip155:8453', 'Base', 'ethereum', ''].map((network) =>
    changedProof(
      `version 1 for the network ${network || 'without a name'}`,
      'payment_invalid',
      'v1',
      setPath('network', network),
    ),
  ),
  ...['eip155:84532', 'eip155:1', 'base', 'eip155:08453', 'solana:x'].map((network) =>
    changedProof(`version 2 for the network ${network}`, 'payment_invalid', 'v2', setPath('accepted.network', network)),
  ),
  changedProof('another token', 'payment_invalid', 'v2', setPath('accepted.asset', NETWORKS['base-sepolia'].usdc)),
  changedProof('a promise to pay another payee', 'payment_invalid', 'v2', setPath('accepted.payTo', payer.address)),
  changedProof('a promise of a higher amount', 'payment_invalid', 'v2', setPath('accepted.amount', '99000000')),
  changedProof('a promise of a lower amount', 'payment_invalid', 'v2', setPath('accepted.amount', '0')),
  changedProof('version 1 of another scheme', 'payment_invalid', 'v1', setPath('scheme', 'upto')),
  changedProof('version 2 of another scheme', 'payment_invalid', 'v2', setPath('accepted.scheme', 'upto')),
  changedProof(
    'a proof for another resource',
    'payment_bound_elsewhere',
    'v2',
    setPath('resource.url', 'http://127.0.0.1:4020/api/buy/2'),
  ),
];

const signedFields = ['from', 'to', 'value', 'validAfter', 'validBefore', 'nonce'].map(
  (field) => `payload.authorization.${field}`,
);
const shapes: BadProof[] = [
  ...['x402Version', 'payload', 'payload.signature', 'payload.authorization', ...signedFields].flatMap((path) => [
    changedProof(`a proof without ${path}`, 'malformed_proof', 'both', setPath(path, undefined)),
    changedProof(`a proof with a number for ${path}`, 'malformed_proof', 'both', setPath(path, 3)),
    changedProof(`a proof with an object for ${path}`, 'malformed_proof', 'both', setPath(path, {})),
  ]),
  ...['-1', '1e6', '0x10', '1.0', ' 1', '', '9'.repeat(78)].map((value) =>
    changedProof(
      `a value spelled "${value.slice(0, 9)}"`,
      'malformed_proof',
      'both',
      setPath('payload.authorization.value', value),
    ),
  ),
  changedProof(
    'a time spelled as a date',
    'malformed_proof',
    'both',
    setPath('payload.authorization.validBefore', '2030-01-01'),
  ),
  changedProof('a short nonce', 'malformed_proof', 'both', setPath('payload.authorization.nonce', '0x01')),
  changedProof(
    'a payer that is no address',
    'malformed_proof',
    'both',
    setPath('payload.authorization.from', 'buyer.eth'),
  ),
  changedProof('version 3', 'malformed_proof', 'both', setPath('x402Version', 3)),
  changedProof('a permit2 payload', 'malformed_proof', 'both', (proof) => {
    const { authorization, signature } = proof['payload'] as Json;
    const permit2Authorization = {
      ...authorization,
      permitted: { token: NETWORKS.base.usdc, amount: '1' },
      spender: payer.address,
    };
    setPath('payload', { signature, permit2Authorization })(proof);
  }),
];

/** Replaces the signature of a proof with one of a different kind. The terms stay the same. */
function resignedProof(
  what: string,
  reason: Reason,
  sign: (at: PayAt, proof: SignedProof) => Hex | Promise<Hex>,
): BadProof {
  const make = async (at: PayAt) => {
    const proof = await good(at);
    return both(wrapProof(proof.authorization, await sign(at, proof), at.terms));
  };
  return { what, reason, make };
}

function hexOf(text: string): Hex {
  if (!isHex(text)) throw new TypeError('not hex');
  return text;
}

/** Returns the high-s twin of a signature, which recovers to the same address. */
function highS(signature: Hex): Hex {
  const s = CURVE_ORDER - BigInt(`0x${signature.slice(66, 130)}`);
  const v = signature.endsWith('1b') ? '1c' : '1b';
  return hexOf(`${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}`);
}

function signIn(domain: Partial<TokenDomain>, by: TestAccount = payer) {
  return (at: PayAt, { authorization }: SignedProof): Promise<Hex> =>
    by.signer.signTypedData({
      domain: { ...usdcDomain(at.chain.chainId), ...domain },
      types: AUTHORIZATION_TYPES,
      primaryType: 'TransferWithAuthorization',
      message: authorization,
    });
}

const signatures: BadProof[] = [
  resignedProof('the high-s twin of a signature', 'signature_invalid', (_, { signature }) => highS(signature)),
  resignedProof('a signature with a v of 2 or 3', 'signature_invalid', (_, { signature }) =>
    hexOf(`${signature.slice(0, 130)}${signature.endsWith('1b') ? '02' : '03'}`),
  ),
  resignedProof('a signature by another key', 'signature_invalid', signIn({}, testAccount('another signer'))),
  resignedProof('a signature for another chain', 'signature_invalid', signIn({ chainId: 1n })),
  resignedProof(
    'a signature for another token',
    'signature_invalid',
    signIn({ verifyingContract: NETWORKS['base-sepolia'].usdc }),
  ),
  resignedProof('a signature for another version of the token', 'signature_invalid', signIn({ version: '1' })),
  resignedProof('a signature of zeros', 'signature_invalid', () => hexOf(`0x${'0'.repeat(130)}`)),
  resignedProof('a signature of ones', 'signature_invalid', () => hexOf(`0x${'f'.repeat(130)}`)),
  resignedProof('a short signature', 'signature_invalid', (_, { signature }) => hexOf(signature.slice(0, 128))),
  resignedProof('a long signature', 'signature_invalid', (_, { signature }) => hexOf(`${signature}00`)),
  resignedProof('an empty signature', 'malformed_proof', () => '0x'),
  resignedProof(
    'an authorization changed after it was signed',
    'signature_invalid',
    async (at) => (await good(at)).signature,
  ),
];

function headers(what: string, reason: Reason, make: (proof: SignedProof) => Headers[]): BadProof {
  return { what, reason, make: async (at) => make(await good(at)) };
}

const jsonOf = ({ value }: SignedProof['v1']): string => Buffer.from(value, 'base64').toString();

const headerForms: BadProof[] = [
  headers('a proof in both headers', 'two_proofs', ({ v1, v2 }) => [{ ...header(v1), ...header(v2) }]),
  headers('a proof sent twice', 'two_proofs', ({ v1, v2 }) =>
    [v1, v2].map((p) => ({ [p.header]: [p.value, p.value] })),
  ),
  headers('a proof and an empty header', 'two_proofs', ({ v1, v2 }) => [{ ...header(v1), [v2.header]: '' }]),
  headers('two versions in the wrong headers', 'malformed_proof', ({ v1, v2 }) => [
    { [v1.header]: v2.value },
    { [v2.header]: v1.value },
  ]),
  headers('two proofs joined by a comma', 'malformed_proof', ({ v1 }) => [{ [v1.header]: `${v1.value}, ${v1.value}` }]),
  headers('JSON without base64', 'malformed_proof', ({ v1, v2 }) => [v1, v2].map((p) => ({ [p.header]: jsonOf(p) }))),
  headers('half a proof', 'malformed_proof', ({ v1, v2 }) =>
    [v1, v2].map((p) => ({ [p.header]: p.value.slice(0, p.value.length / 2) })),
  ),
  headers('a field given twice', 'malformed_proof', ({ v1, v2 }) =>
    [v1, v2].flatMap((p) => [
      { [p.header]: base64(jsonOf(p).replace('{', '{"x402Version":1,')) },
      { [p.header]: base64(jsonOf(p).replace('"authorization":{', '"authorization":{"value":"1",')) },
    ]),
  ),
  ...[
    '',
    '=',
    '*',
    '%%%',
    'null',
    'a b',
    'e30',
    'e30=',
    base64('nonsense'),
    base64('[]'),
    base64('null'),
    base64('"text"'),
  ].map((value): BadProof => ({ what: `"${value}"`, reason: 'malformed_proof', make: async () => inEither(value) })),
  {
    what: 'bytes that are no text',
    reason: 'malformed_proof',
    make: async () => inEither(base64(Buffer.from([0xff, 0xfe]))),
  },
  { what: 'deep nesting', reason: 'malformed_proof', make: async () => inEither(base64('{"a":'.repeat(2_000))) },
  headers('a header of more than 16,000 bytes', 'headers_too_large', ({ v1, v2 }) =>
    [v1, v2].map((p) => ({ [p.header]: p.value.padEnd(16_001, 'A') })),
  ),
];

/** All bad proofs that do not depend on the state of the chain. */
export const BAD_PROOFS: readonly BadProof[] = [...otherTerms, ...otherWords, ...shapes, ...signatures, ...headerForms];
