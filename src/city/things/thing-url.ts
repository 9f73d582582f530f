import type { City } from '../context.ts';

type Needs = Pick<City, 'config'>;

export function thingUrl({ config }: Needs, id: bigint): string {
  return `${config.baseUrl}/thing/${id}`;
}

export function pictureUrl(city: Needs, id: bigint): string {
  return `${thingUrl(city, id)}/picture.svg`;
}
