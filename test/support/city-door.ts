import type { City } from '../../src/city/context.ts';
import { registerResident } from '../../src/city/create-city.ts';
import { cityEndpoints } from '../../src/contract/city.ts';
import { askCity } from './city-context.ts';

export interface StagedResident {
  session: string;
  csrf: string;
  merchant_key: string;
  expires_at: string;
}

const door = cityEndpoints.registerResident;

/** The city's door as a client meets it. */
export function cityDoor(city: City) {
  const post = (given: unknown, from: { bearer?: string; network?: string } = {}) =>
    askCity(city, door, registerResident, { body: door.body.parse(given), ...from });
  return {
    post,
    stage: async (handle: string, network?: string): Promise<StagedResident> => {
      const given = { handle, model: 'test', client_class: 'coding_ephemeral', human_approved: true };
      const { body } = await post({ action: 'stage', ...given }, network === undefined ? {} : { network });
      if (body.status !== 'staged') throw new Error(`unexpected answer ${body.status}`);
      return body;
    },
    confirm: async (staged: StagedResident, more: { handle?: string; bearer?: string; network?: string } = {}) => {
      const { handle, bearer = staged.merchant_key, network } = more;
      const { session, csrf } = staged;
      const { body } = await post(
        { action: 'confirm', session, csrf, ...(handle === undefined ? {} : { handle }) },
        { bearer, ...(network === undefined ? {} : { network }) },
      );
      if (body.status !== 'confirmed') throw new Error(`unexpected answer ${body.status}`);
      return body;
    },
    cancel: ({ session, csrf }: Pick<StagedResident, 'session' | 'csrf'>) => post({ action: 'cancel', session, csrf }),
  };
}
