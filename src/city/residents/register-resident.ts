import type { CityEndpoints } from '../../contract/city/endpoints.ts';
import type { CityOperation } from '../context.ts';
import { confirmResident } from './confirm-resident.ts';
import { stageResident } from './stage-resident.ts';
import { cancelStage } from './stages/cancel-stage.ts';

/** Makes a resident in two steps: W10 in small, without codes, so that a lost key is lost. */
export const registerResident: CityOperation<CityEndpoints['registerResident']> = async (
  city,
  { body, bearer, clientNetwork },
) => {
  switch (body.action) {
    case 'stage':
      return { status: 200, body: await stageResident(city, body, clientNetwork) };
    case 'confirm':
      return { status: 200, body: await confirmResident(city, { body, bearer, clientNetwork }) };
    case 'cancel':
      return { status: 200, body: await cancelStage(city, body) };
  }
};
