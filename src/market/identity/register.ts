import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';
import { confirmRegistration } from './confirm-registration.ts';
import { mustBeOpen } from './must-be-open.ts';
import { stageRegistration } from './stage-registration.ts';
import { cancelStage } from './stages/cancel-stage.ts';

/** Opens a store in two steps (W10). */
export const register: MarketOperation<Endpoints['register']> = async (market, { body, bearer, clientNetwork }) => {
  mustBeOpen(market.config, 'register');
  switch (body.action) {
    case 'stage':
      return { status: 200, body: await stageRegistration(market, body, clientNetwork) };
    case 'confirm':
      return { status: 200, body: await confirmRegistration(market, { body, bearer, clientNetwork }) };
    case 'cancel':
      return { status: 200, body: await cancelStage(market, 'register', body) };
  }
};
