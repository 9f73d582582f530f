import { randomInt } from 'node:crypto';
import type { Game } from './play.ts';

/** The game that the environment asks for; a new one each time unless a seed is named. */
export function readGame(env: NodeJS.ProcessEnv, usual: Pick<Game, 'runs'>): Game {
  return {
    runs: Number(env['OPENAISLE_THING_RUNS'] ?? usual.runs),
    seed: Number(env['OPENAISLE_THING_SEED'] ?? randomInt(2 ** 31)),
    path: env['OPENAISLE_THING_PATH'] ?? null,
  };
}
