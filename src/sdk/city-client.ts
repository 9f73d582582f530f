import { type CityEndpoints, cityEndpoints } from '../contract/city.ts';
import { type ClientOf, type ClientOptions, createClientOf } from './client.ts';

/** Of a city. Its key is a resident's: a merchant's key is never given to it, nor a resident's to the market. */
export type CityClient = ClientOf<CityEndpoints>;

export function createCityClient(options: ClientOptions): CityClient {
  return createClientOf(cityEndpoints, options);
}
