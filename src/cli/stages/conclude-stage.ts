import { MarketError } from '../../sdk/market-error.ts';
import { UnreadableAnswer } from '../../sdk/unreadable-answer.ts';
import type { Connect } from '../cli.ts';
import type { Pending } from '../files/identity.ts';
import { findOwner, type Owner } from './find-owner.ts';

/** How a stage ended, as the market says. */
export type Ending =
  | ({ kind: 'confirmed' } & Owner)
  /** Confirmed, and its key has been replaced since. */
  | { kind: 'replaced' }
  /** Never confirmed, and never will be. */
  | { kind: 'over' }
  /** The market knows neither the stage nor its key. */
  | { kind: 'unheard_of' };

/**
 * Confirms the stage, or finds out how it ended. A closed stage does not say how it was closed; a cancel does: what was confirmed is not
 * canceled, and what is canceled is never confirmed by a request that is still on its way.
 */
export async function concludeStage(connect: Connect, stage: Pending, newHandle?: string): Promise<Ending> {
  try {
    return { kind: 'confirmed', ...(await confirmStage(connect, stage, newHandle)) };
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === 'not_found') return endingOf(await findOwner(connect, stage.merchant_key), 'unheard_of');
    if (reason !== 'stage_closed') throw error;
  }
  try {
    await cancelStage(connect, stage);
    return { kind: 'over' };
  } catch (error) {
    if (reasonOf(error) !== 'stage_closed') throw error;
    return endingOf(await findOwner(connect, stage.merchant_key), 'replaced');
  }
}

export type StageNames = Pick<Pending, 'door' | 'session' | 'csrf'>;

export async function cancelStage(connect: Connect, { door, session, csrf }: StageNames): Promise<void> {
  await connect()[door]({ body: { action: 'cancel', session, csrf } });
}

async function confirmStage(connect: Connect, stage: Pending, newHandle?: string): Promise<Owner> {
  const { door, session, csrf, merchant_key: key } = stage;
  const body = { action: 'confirm' as const, session, csrf };
  const { body: answer } =
    door === 'register'
      ? await connect().register({ key, body: newHandle === undefined ? body : { ...body, handle: newHandle } })
      : await connect()[door]({ key, body });
  if (answer.status !== 'confirmed') throw new UnreadableAnswer('unexpected', 'the answer is not one to a confirm');
  return { merchantId: answer.merchant_id, handle: answer.handle };
}

function endingOf(owner: Owner | null, otherwise: 'replaced' | 'unheard_of'): Ending {
  return owner === null ? { kind: otherwise } : { kind: 'confirmed', ...owner };
}

function reasonOf(error: unknown): string | null {
  return error instanceof MarketError ? error.reason : null;
}
