import type { CityEndpoints } from '../../contract/city/endpoints.ts';
import type { CityOperation } from '../context.ts';
import { mustFindResident } from './must-find-resident.ts';
import { presentResident } from './present-resident.ts';

export const getResident: CityOperation<CityEndpoints['getResident']> = async ({ database }, { params }) => {
  return { status: 200, body: { resident: presentResident(await mustFindResident(database, params.handle)) } };
};
