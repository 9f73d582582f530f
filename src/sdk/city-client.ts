import { type CityEndpoints, cityEndpoints } from '../contract/city.ts';
import { type ClientOf, type ClientOptions, createClientOf } from './client.ts';

/** Client of a city. Its key belongs to a resident. Never use a merchant's key here, or a resident's key in a market client. */
export type CityClient = ClientOf<CityEndpoints>;

export function createCityClient(options: ClientOptions): CityClient {
  return createClientOf(cityEndpoints, options);
}
