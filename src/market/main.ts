import { ConfigError } from '../platform/config.ts';
import { crashAt, readCrash, warnOfCrash } from '../platform/crash-points.ts';
import { createLog, type Log } from '../platform/log.ts';
import { runInForeground } from '../platform/shutdown.ts';
import { readMarketConfig } from './config.ts';
import type { CrashPoint, MarketConfig } from './context.ts';
import { type MarketRun, runMarket } from './start.ts';
import { runSupervisor, runWorker } from './supervisor.ts';

const CRASH_POINTS: Readonly<Record<CrashPoint, true>> = {
  before_verify: true,
  after_settling_committed: true,
  after_settle_before_answer: true,
  after_claim_committed: true,
  after_watermark_raised: true,
  after_head_read: true,
  after_evidence_gathered: true,
  after_final_before_delivery: true,
  after_commit_before_answer: true,
};

/** Two facilitator calls of 8 s each, and a margin. */
const DRAIN_MS = 25_000;
/** Time for a worker to drain and then shut down. */
const WORKER_DRAIN_MS = DRAIN_MS + 20_000;

async function main(): Promise<void> {
  const config = readMarketConfig(process.env);
  const crash = readCrash(process.env, CRASH_POINTS);
  const log = createLog({ hide: secretsOf(config), fields: ['worker', 'code'] });
  if (crash !== null) warnOfCrash(log, crash);
  const options = { config, log, ...(crash === null ? {} : { crashPoint: crashAt(crash) }) };
  const working = runWorker({ ...options, drainMs: DRAIN_MS });
  if (working !== null) await working;
  else if (config.workers === 1) await runMarketInFront(() => runMarket(options), log, DRAIN_MS);
  else {
    const supervisorLog = log.with({ worker: 0, pid: process.pid });
    await runMarketInFront(() => runSupervisor({ config, log: supervisorLog }), supervisorLog, WORKER_DRAIN_MS);
  }
}

/** Runs the first process, and ends it if all its workers fail. */
async function runMarketInFront(start: () => Promise<MarketRun>, log: Log, drainMs: number): Promise<void> {
  const { run, shutdown } = await runInForeground(start, { site: 'market', log, drainMs });
  void run.failed.then(async () => {
    if (shutdown.isStopping()) return;
    log.error('workers_failed', {
      detail: 'Every worker ends soon after its start. The lines before this one say why.',
    });
    await shutdown.stop('workers_failed');
    process.exit(1);
  });
}

/** Returns URLs that may contain a password or a provider's key, and the facilitator's header. */
function secretsOf(config: MarketConfig): string[] {
  const { databaseUrl, rpcUrls, facilitatorUrl, facilitatorAuth } = config;
  return [databaseUrl, ...rpcUrls, facilitatorUrl, facilitatorAuth].filter((secret) => secret !== null);
}

main().catch((error: unknown) => {
  // A ConfigError names variables and never values. Its stack is of no use.
  console.error(error instanceof ConfigError ? error.message : error);
  process.exitCode = 1;
});
