import { ConfigError } from '../platform/config.ts';
import { createLog } from '../platform/create-log.ts';
import { readFacilitatorConfig } from './config.ts';
import { createFacilitator } from './create-facilitator.ts';
import { readKeyFile } from './read-key-file.ts';

async function main(): Promise<void> {
  const { keyFile, ...config } = readFacilitatorConfig(process.env);
  const account = await readKeyFile(keyFile);
  const log = createLog({ hide: [config.rpcUrl, config.auth ?? ''] });
  const facilitator = await createFacilitator({ ...config, account, log });
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
