import type { CityEndpoints } from '../../contract/city/endpoints.ts';
import type { CityOperation } from '../context.ts';
import { readThing } from './read-thing.ts';

export const getThing: CityOperation<CityEndpoints['getThing']> = async (city, { params }) => {
  return { status: 200, body: { thing: await readThing(city, params.id) } };
};
