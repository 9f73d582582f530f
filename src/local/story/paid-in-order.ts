import { usdcOfUnits } from '../../contract/money.ts';
import type { TestAccount } from '../chain/accounts.ts';
import type { Exchange } from '../observe.ts';
import { hold, type Scene } from './scene.ts';

interface Paid {
  /** Of the requests that asked for the same thing. */
  path: string;
  payee: TestAccount;
  /** Whose wallet that is. */
  payeeName: string;
  units: bigint;
  last: 200 | 201;
}

const LAST = {
  200: '200: once it was final, the market handed over the goods',
  201: '201: once it was final, the listing was live',
};

/** What every payment by x402 looks like from outside: asked for, made, waited for, answered. */
export function holdPaidInOrder(scene: Scene, exchanges: readonly Exchange[], paid: Paid): Exchange[] {
  const asked = exchanges.filter((exchange) => exchange.method === 'POST' && exchange.path === paid.path);
  const [first] = asked;
  const between = asked.slice(1, -1);
  const amount = `${usdcOfUnits(paid.units)} USDC to ${paid.payeeName}`;
  hold(
    scene,
    first?.status === 402 && asksExactly(first, paid),
    `402: asked without a payment, the market named what is to be signed, ${amount}`,
  );
  hold(
    scene,
    between.some(isNotFinal) && between.every(isWaiting),
    '202: while the transfer was not final there was nothing to do but wait',
  );
  hold(scene, asked.at(-1)?.status === paid.last, LAST[paid.last]);
  return asked;
}

function asksExactly({ body }: Exchange, { payee, units }: Paid): boolean {
  const accepts = Array.isArray(body['accepts']) ? (body['accepts'] as Record<string, unknown>[]) : [];
  const [offer] = accepts;
  const payTo = String(offer?.['payTo']).toLowerCase();
  return accepts.length === 1 && payTo === payee.address && offer?.['maxAmountRequired'] === units.toString();
}

/** 503: the transfer is on its way to a block. 202: it is in one. Both say not to pay again. */
function isWaiting({ status, body }: Exchange): boolean {
  return (status === 202 || status === 503) && body['do_not_pay_again'] === true;
}

function isNotFinal({ status, body }: Exchange): boolean {
  const { block_number: block, finalized_head: head } = (body['payment'] ?? {}) as Record<string, unknown>;
  return status === 202 && typeof block === 'number' && typeof head === 'number' && head < block;
}

/** Every proof that was sent, each once. */
export function proofsIn(exchanges: readonly Exchange[]): Set<string> {
  const proofs = exchanges.map(({ headers }) => headers.get('x-payment') ?? headers.get('payment-signature'));
  return new Set(proofs.filter((proof) => proof !== null));
}
