import type { CrashPoint } from '../../../src/market/context.ts';
import type { Reference } from '../reference.ts';
import type { Run } from '../run.ts';
import { Act } from './act.ts';
import { Buy } from './buy.ts';
import { claim, type Opening, openIntent, type Sending, transfer } from './claim.ts';
import { ChangeListing, Review, type Reviewing } from './run-shop.ts';
import { Finalize, Wait } from './trouble.ts';

export interface Paying extends Omit<Opening, 'fee'>, Omit<Sending, 'intent'> {
  /** What happens between the intent and the transfer. */
  meanwhile: 'nothing' | 'window over' | 'withdraw' | 'remove' | 'bought';
  /** Null: its sender. */
  signer: number | null;
  /** Sends and claims the whole price once more, for the same intent. */
  again: boolean;
  final: boolean;
  /** What the seller says to it, if it is asked; null: nothing yet. */
  review: Reviewing['outcome'] | null;
  crashAt: CrashPoint | null;
}

/** Intent, transfer and claim, as a buyer does it. */
export class PayDirectly extends Act<Paying> {
  async run(_reference: Reference, run: Run): Promise<void> {
    const { given } = this;
    const intent = await openIntent(run, { ...given, fee: false });
    if (intent === null) return;
    await this.#meanwhile(run);
    const hash = await transfer(run, intent, given);
    const more = given.again ? await transfer(run, intent, { ...given, amount: 'exact' }) : null;
    if (given.final) await run.stage.finalize();
    await run.sync();
    const { signer, crashAt, review } = given;
    const claiming = { who: null, listing: null, signer, twice: false };
    await claim(run, intent, hash, { ...claiming, crashAt });
    if (more !== null) await claim(run, intent, more, { ...claiming, crashAt: null });
    if (review === null) return;
    const decision = { nth: 0, outcome: review, byOther: false, enough: true, final: true };
    await new Review(decision).run(run.reference, run);
  }

  async #meanwhile(run: Run): Promise<void> {
    const { meanwhile, listing, who, wallet } = this.given;
    if (meanwhile === 'window over') await new Wait({ seconds: 601 }).run(run.reference, run);
    if (meanwhile === 'withdraw' || meanwhile === 'remove') {
      await new ChangeListing({ listing, what: meanwhile }).run(run.reference, run);
    }
    if (meanwhile !== 'bought') return;
    const same = { who, listing, version: 'v2' as const, nth: 0, ahead: 120, twice: false, crashAt: null };
    await new Buy({ ...same, wallet: wallet + 1, how: 'sign' }).run(run.reference, run);
    await new Finalize({}).run(run.reference, run);
    await new Buy({ ...same, wallet, how: 'bare' }).run(run.reference, run);
  }
}
