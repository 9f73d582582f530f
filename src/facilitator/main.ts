import { ConfigError } from '../platform/config.ts';
import { crashAt, readCrash, warnOfCrash } from '../platform/crash-points.ts';
import { createLog } from '../platform/create-log.ts';
import { readFacilitatorConfig } from './config.ts';
import { CRASH_POINTS } from './crash-points.ts';
import { createFacilitator } from './create-facilitator.ts';
import { readKeyFile } from './read-key-file.ts';

async function main(): Promise<void> {
  const { keyFile, ...config } = readFacilitatorConfig(process.env);
  const crash = readCrash(process.env, CRASH_POINTS);
  const account = await readKeyFile(keyFile);
  const log = createLog({ hide: [config.rpcUrl, config.auth ?? ''] });
  if (crash !== null) warnOfCrash(log, crash);
  const dying = crash === null ? {} : { crashPoint: crashAt(crash) };
  const facilitator = await createFacilitator({ ...config, account, log, ...dying });
  const stop = (signal: NodeJS.Signals): void => {
    log.info('facilitator_stopping', { signal });
    facilitator.close().then(
      () => log.info('facilitator_stopped'),
      (error: unknown) => {
        log.error('facilitator_not_stopped', { error });
        process.exitCode = 1;
      },
    );
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

main().catch((error: unknown) => {
  // The message is written for the operator and holds no value; a stack would only be in the way.
  const expected = error instanceof ConfigError || (error instanceof Error && /^FACILITATOR_/.test(error.message));
  console.error(expected && error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
