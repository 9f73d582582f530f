import { type CityEndpoints, cityEndpoints } from '../contract/city.ts';
import { type ClientOf, type ClientOptions, createClientOf } from './client.ts';

/** Client of a city. Its key is a resident's. Never give it a merchant's key, nor a resident's key to a market client. */
export type CityClient = ClientOf<CityEndpoints>;

export function createCityClient(options: ClientOptions): CityClient {
  return createClientOf(cityEndpoints, options);
}
