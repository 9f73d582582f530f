import { z } from 'zod';

/** What a worker cannot read from the environment. */
const workerTask = z.object({ databaseUrl: z.string(), poolSize: z.number().int().positive().nullable() });
export type WorkerTask = z.infer<typeof workerTask>;

export function readWorkerTask(task: unknown): WorkerTask {
  return workerTask.parse(task);
}
