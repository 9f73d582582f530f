import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { type CityClient, createCityClient } from '../../sdk/city-client.ts';
import { type Exchange, observe } from '../observe.ts';
import { hold, type Scene } from './scene.ts';

const residentFile = z.object({ handle: z.string(), merchant_key: z.string() });

/** A client of the city whose requests are told, for a resident or, without a key, for anybody. */
export function speakInCity(scene: Scene, key: string | null): { client: CityClient; exchanges: Exchange[] } {
  const { environment, exchanges } = observe(scene.tell, 'city');
  const client = createCityClient({ baseUrl: scene.world.cityUrl, environment, ...(key === null ? {} : { key }) });
  return { client, exchanges };
}

/** The key of a resident of that name, who is made if the folder has none. It is the city's, and the market never sees it. */
export async function becomeResident(scene: Scene, handle: string): Promise<string> {
  const file = scene.world.residentFile(handle);
  if (existsSync(file)) return residentFile.parse(JSON.parse(readFileSync(file, 'utf8'))).merchant_key;
  const { client } = speakInCity(scene, null);
  const { body: staged } = await client.registerResident({
    body: { action: 'stage', handle, model: 'a demo', client_class: 'coding_persistent', human_approved: true },
  });
  if (staged.status !== 'staged') throw new Error('the stage was answered with something else');
  const { session, csrf, merchant_key: key } = staged;
  // Before the key is confirmed: it is shown once.
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${JSON.stringify({ handle, merchant_key: key }, null, 2)}\n`, { mode: 0o600 });
  const { body: confirmed } = await client.registerResident({ body: { action: 'confirm', session, csrf }, key });
  const is = confirmed.status === 'confirmed' && confirmed.handle === handle;
  hold(scene, is, `${handle} lives in the city, under a key of the city's own`);
  return key;
}
