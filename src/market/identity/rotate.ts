import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';
import { beginRotation } from './begin-rotation.ts';
import { confirmRotation } from './confirm-rotation.ts';
import { mustBeOpen } from './must-be-open.ts';
import { cancelStage } from './stages/cancel-stage.ts';

/** Replaces a key in two steps (W10). Until the confirm the old key is the key. */
export const rotate: MarketOperation<Endpoints['rotate']> = async (market, { body, bearer, clientNetwork }) => {
  mustBeOpen(market.config, 'rotate');
  switch (body.action) {
    case 'begin':
      return { status: 200, body: await beginRotation(market, bearer, clientNetwork) };
    case 'confirm':
      return { status: 200, body: await confirmRotation(market, { body, bearer, clientNetwork }) };
    case 'cancel':
      return { status: 200, body: await cancelStage(market, 'rotate', body) };
  }
};
