import type { Endpoints } from '../../contract/index.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { MarketOperation } from '../context.ts';
import { cancelRegistration } from './cancel-registration.ts';
import { confirmRegistration } from './confirm-registration.ts';
import { stageRegistration } from './stage-registration.ts';

/** Opens a store in two steps (W10). */
export const register: MarketOperation<Endpoints['register']> = async (market, { body, bearer, clientNetwork }) => {
  if (!market.config.openDoors.has('register')) throw new Refusal('door_closed');
  switch (body.action) {
    case 'stage':
      return { status: 200, body: await stageRegistration(market, body, clientNetwork) };
    case 'confirm':
      return { status: 200, body: await confirmRegistration(market, { body, bearer, clientNetwork }) };
    case 'cancel':
      return { status: 200, body: await cancelRegistration(market, body) };
  }
};
