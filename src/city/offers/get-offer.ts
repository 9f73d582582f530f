import type { CityEndpoints } from '../../contract/city/endpoints.ts';
import type { CityOperation } from '../context.ts';
import { mustFindOffer } from './must-find-offer.ts';
import { presentOffer } from './present-offer.ts';

/** GET /api/world/offer/:id. Says what is written; the chain is looked at by others. */
export const getOffer: CityOperation<CityEndpoints['getOffer']> = async (city, { params }) => ({
  status: 200,
  body: { offer: presentOffer(city, await mustFindOffer(city.database, params.id)) },
});
