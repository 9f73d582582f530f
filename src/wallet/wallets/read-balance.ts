import type { Deal } from '../deal.ts';
import { sayAmount } from '../messages/say-message.ts';
import type { Connected } from './connect-wallet.ts';

/** The wallet holds less than the price. Nothing was signed. */
export class TooLittle extends Error {
  override readonly name = 'TooLittle';
}

const BALANCE_OF = '0x70a08231';

/** What the wallet says that it holds, asked before anything is signed; null where it does not answer. */
async function readBalance({ provider, address }: Connected, { usdc }: Deal): Promise<bigint | null> {
  const data = `${BALANCE_OF}${address.slice(2).toLowerCase().padStart(64, '0')}`;
  try {
    const answer = await provider.request({ method: 'eth_call', params: [{ to: usdc, data }, 'latest'] });
    return typeof answer === 'string' && /^0x[0-9a-fA-F]{64}$/.test(answer) ? BigInt(answer) : null;
  } catch {
    return null;
  }
}

/** Throws `TooLittle`. The market asks once more, of the chain. */
export async function mustHoldEnough(connected: Connected, deal: Deal): Promise<void> {
  const balance = await readBalance(connected, deal);
  if (balance === null || balance >= deal.units) return;
  throw new TooLittle(`This wallet holds ${sayAmount(balance)}, and the price is ${sayAmount(deal.units)}`);
}
