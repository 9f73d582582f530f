import { systemEnvironment } from '../../../src/sdk/environment.ts';

const TRIES = 6;
const LONGEST_SECONDS = 60;

/** A market may ask a stranger who reads all of it to wait: that is done, some times. */
export async function patientFetch(url: string, init: RequestInit): Promise<Response> {
  // The time limit is that of one call; each try has its own.
  const { signal: _, ...request } = init;
  for (let round = 1; ; round += 1) {
    const answer = await fetch(url, { ...request, signal: systemEnvironment.deadline(30_000) });
    const isBusy = answer.status === 429 || answer.status === 503;
    if (!isBusy || round === TRIES) return answer;
    await answer.body?.cancel();
    const asked = Number(answer.headers.get('retry-after') ?? 1);
    await systemEnvironment.sleep(Math.min(LONGEST_SECONDS, Number.isFinite(asked) ? asked : 1) * 1_000);
  }
}
