import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';
import { beginRecovery } from './begin-recovery.ts';
import { confirmRecovery } from './confirm-recovery.ts';
import { generateCodes } from './generate-codes.ts';
import { mustBeOpen } from './must-be-open.ts';
import { cancelStage } from './stages/cancel-stage.ts';

/** Wins a store back with one of its codes, or makes new codes (W10). */
export const recovery: MarketOperation<Endpoints['recovery']> = async (market, { body, bearer, clientNetwork }) => {
  mustBeOpen(market.config, 'recovery');
  switch (body.action) {
    case 'begin':
      return { status: 200, body: await beginRecovery(market, body.recovery_code, clientNetwork) };
    case 'confirm':
      return { status: 200, body: await confirmRecovery(market, { body, bearer, clientNetwork }) };
    case 'cancel':
      return { status: 200, body: await cancelStage(market, 'recovery', body) };
    case 'generate':
      return { status: 200, body: await generateCodes(market, { body, bearer, clientNetwork }) };
  }
};
