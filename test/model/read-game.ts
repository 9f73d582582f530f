import { randomInt } from 'node:crypto';
import type { Game } from './play.ts';

/** The game that the environment asks for; a new one each time unless a seed is named. */
export function readGame(env: NodeJS.ProcessEnv, usual: Pick<Game, 'runs' | 'auditEvery'>): Game {
  return {
    runs: Number(env['OPENAISLE_MODEL_RUNS'] ?? usual.runs),
    seed: Number(env['OPENAISLE_MODEL_SEED'] ?? randomInt(2 ** 31)),
    path: env['OPENAISLE_MODEL_PATH'] ?? null,
    replayPath: env['OPENAISLE_MODEL_REPLAY'] ?? null,
    auditEvery: Number(env['OPENAISLE_MODEL_AUDIT_EVERY'] ?? usual.auditEvery),
  };
}
