import { expect, it } from 'vitest';
import { AUTHORIZATION_TYPES } from '../../contract/authorization-types.ts';
import type { AuthorizationToSign } from '../../sdk/payments/payment-proof.ts';
import { SAMPLE_OFFER } from '../sample-offer.ts';
import { type Provider, WalletTrouble } from '../wallet-provider.ts';
import { type Asking, createAskingWallet, MessageStale } from './ask-wallet.ts';

const PAYER = `0x${'a'.repeat(40)}` as const;
const SIGNATURE = `0x${'5'.repeat(130)}`;
const START = 1_700_000_000_000;

interface Played {
  asking: Asking;
  calls: string[];
  shown: string[];
  sent: unknown[];
  clock: { ms: number };
  tell(accounts: readonly string[]): void;
}

/** Fakes the wallet, which is third-party software. */
function playWallet(options: Partial<Asking> & { said?: (method: string) => unknown } = {}): Played {
  const { said, ...parts } = options;
  const calls: string[] = [];
  const shown: string[] = [];
  const sent: unknown[] = [];
  const clock = { ms: START };
  const listeners = new Set<(data: unknown) => void>();
  const provider: Provider = {
    request: async ({ method, params = [] }) => {
      calls.push(method);
      if (method === 'eth_signTypedData_v4') sent.push(params[1]);
      const other = said?.(method);
      if (other !== undefined) return other;
      if (method === 'eth_accounts') return [PAYER];
      return method === 'eth_chainId' ? '0x2105' : SIGNATURE;
    },
    on: (_, listener) => void listeners.add(listener),
    removeListener: (_, listener) => void listeners.delete(listener),
  };
  const asking: Asking = {
    ...{ offer: SAMPLE_OFFER, payer: PAYER, purpose: () => 'pay', now: () => clock.ms },
    connect: async () => ({ provider, address: PAYER }),
    confirm: async (message) => void shown.push(JSON.stringify(message)),
    onOpen: () => void calls.push('told'),
    ...parts,
  };
  return {
    ...{ asking, calls, shown, sent, clock },
    tell: (accounts) => {
      for (const listener of listeners) listener(accounts);
    },
  };
}

function messageToSign(secondsAhead = 120): AuthorizationToSign {
  return {
    domain: { name: 'USD Coin', version: '2', chainId: 8453n, verifyingContract: SAMPLE_OFFER.usdc },
    types: AUTHORIZATION_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: {
      ...{ from: PAYER, to: SAMPLE_OFFER.seller_wallet, value: 4_000_000n, validAfter: 0n },
      ...{ validBefore: BigInt(START / 1_000 + secondsAhead), nonce: `0x${'3'.repeat(64)}` },
    },
  };
}

const sign = ({ asking }: Played, message = messageToSign()) => createAskingWallet(asking).signTypedData(message);

it('shows first, asks the wallet only after a yes, and sends what was shown', async () => {
  const played = playWallet();
  expect(await sign(played)).toBe(SIGNATURE);
  expect(played.calls).toEqual(['eth_accounts', 'eth_chainId', 'told', 'eth_signTypedData_v4']);
  expect(played.sent).toEqual(played.shown);
});

it('a no never reaches the wallet', async () => {
  const played = playWallet({ confirm: () => Promise.reject(new WalletTrouble('stopped')) });
  await expect(sign(played)).rejects.toMatchObject({ why: 'stopped' });
  expect(played.calls).toEqual([]);
});

it('what is not as shown is neither shown nor signed', async () => {
  const played = playWallet();
  const message = messageToSign();
  const more = { ...message, message: { ...message.message, value: 5_000_000n } };
  await expect(sign(played, more)).rejects.toMatchObject({ name: 'MessageMismatch' });
  expect([played.calls, played.shown]).toEqual([[], []]);
});

it('a message that gets old while it is read is put away', async () => {
  const played = playWallet({ confirm: () => new Promise(() => {}) });
  await expect(sign(played, messageToSign(50))).rejects.toBeInstanceOf(MessageStale);
  expect(played.calls).toEqual([]);
});

it('a change of the account puts it away', async () => {
  const played = playWallet({ confirm: () => new Promise(() => {}) });
  const signing = sign(played);
  await Promise.resolve();
  played.tell([PAYER.toUpperCase().replace('0X', '0x')]);
  played.tell([`0x${'b'.repeat(40)}`]);
  await expect(signing).rejects.toMatchObject({ why: 'account_changed' });
  expect(played.calls).toEqual([]);
});

it('an account that changed without a word is noticed before the wallet is asked to sign', async () => {
  const played = playWallet({ said: (method) => (method === 'eth_accounts' ? [`0x${'b'.repeat(40)}`] : undefined) });
  await expect(sign(played)).rejects.toMatchObject({ why: 'account_changed' });
  expect(played.sent).toEqual([]);
});

it('a signature that comes too late is let go of', async () => {
  const played = playWallet({
    said: (method) => {
      if (method === 'eth_signTypedData_v4') played.clock.ms += 95_000;
      return undefined;
    },
  });
  await expect(sign(played)).rejects.toMatchObject({ why: 'too_late' });
});

it.each([null, 'yes', '0x', `0x${'5'.repeat(128)}`, `0x${'g'.repeat(130)}`])('%j is no signature', async (said) => {
  const played = playWallet({ said: (method) => (method === 'eth_signTypedData_v4' ? (said ?? 0) : undefined) });
  await expect(sign(played)).rejects.toMatchObject({ why: 'unusable' });
});
