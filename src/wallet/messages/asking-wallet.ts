import type { AuthorizationToSign, Wallet } from '../../sdk/payments/sign-authorization.ts';
import type { Deal } from '../deal.ts';
import { type Address, type Connected, mustBeSame, readAccounts } from '../wallets/connect-wallet.ts';
import { askWallet, WalletTrouble } from '../wallets/provider.ts';
import { checkMessage, type Purpose } from './check-message.ts';
import { type TypedMessage, toTypedMessage } from './typed-message.ts';

/** A message gets old while it is read. Nothing was signed, and another is made. */
export class MessageStale extends Error {
  override readonly name = 'MessageStale';
}

export interface Asking {
  deal: Deal;
  payer: Address;
  /** The wallet, which is asked for where none is connected yet. */
  connect(): Promise<Connected>;
  /** What the signature is for, as the market was last asked. */
  purpose(): Purpose;
  /** Shows the message and resolves when the person says yes; rejects when they say no. */
  confirm(message: TypedMessage, purpose: Purpose): Promise<void>;
  /** The wallet is open now. */
  onAsked(purpose: Purpose): void;
  now(): number;
}

/** Below this the market takes no signature, with room for the way there. */
const LEAST_LEFT_MS = 30_000;
/** Time for reading what the wallet shows. */
const TO_SIGN_MS = 20_000;

/** For the SDK: shows what it wants signed, waits for the person, and only then asks the wallet in the browser. */
export function createAskingWallet(asking: Asking): Wallet {
  return { address: asking.payer, signTypedData: (typed) => sign(asking, typed) };
}

async function sign(asking: Asking, typed: AuthorizationToSign): Promise<Address> {
  const { deal, payer, now } = asking;
  const message = toTypedMessage(typed);
  const purpose = asking.purpose();
  checkMessage(message, deal, payer, now(), purpose);
  const connected = await asking.connect();
  const untilMs = Number(typed.message.validBefore) * 1_000;
  await whileFresh(asking.confirm(message, purpose), connected, untilMs - LEAST_LEFT_MS - TO_SIGN_MS - now());
  await mustBeSame(connected, deal.network);
  asking.onAsked(purpose);
  const params = [payer, JSON.stringify(message)];
  const signature = await askWallet(connected.provider, 'eth_signTypedData_v4', params);
  if (typeof signature !== 'string' || !/^0x(?:[0-9a-fA-F]{2}){65,4096}$/.test(signature)) {
    throw new WalletTrouble('unusable', 'what the wallet gave is no signature');
  }
  // It was sent nowhere and is kept nowhere, so letting it go is safe.
  if (untilMs - now() < LEAST_LEFT_MS) throw new WalletTrouble('too_late');
  return signature as Address;
}

/** The person's word, unless the message gets old or the wallet changes its account first. */
async function whileFresh(confirmed: Promise<void>, { provider, address }: Connected, leftMs: number): Promise<void> {
  let end = (): void => {};
  const broken = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(new MessageStale()), Math.max(0, leftMs));
    const changed = (accounts: unknown): void => {
      if (!readAccounts(accounts).includes(address)) reject(new WalletTrouble('account_changed'));
    };
    provider.on?.('accountsChanged', changed);
    end = () => {
      clearTimeout(timer);
      provider.removeListener?.('accountsChanged', changed);
    };
  });
  try {
    await Promise.race([confirmed, broken]);
  } finally {
    end();
  }
}
