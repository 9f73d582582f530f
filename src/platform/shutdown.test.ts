import { EventEmitter } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Clock, systemClock } from './clock.ts';
import { createLog } from './log.ts';
import { handleShutdown, type ShutdownOptions } from './shutdown.ts';

function start(changed: Partial<ShutdownOptions> = {}) {
  const order: string[] = [];
  const exits: number[] = [];
  const lines: string[] = [];
  const process = Object.assign(new EventEmitter(), { exit: (code: number) => void exits.push(code) });
  const shutdown = handleShutdown({
    process,
    clock: systemClock,
    log: createLog({ stream: { write: (line) => void lines.push(line) } }),
    closeServer: async ({ drainMs }) => void order.push(`http ${drainMs} ${shutdown.isStopping()}`),
    steps: [
      { name: 'passes', close: async () => void order.push('passes') },
      { name: 'database', close: () => void order.push('database') },
    ],
    ...changed,
  });
  onTestFinished(() => shutdown.dispose());
  return { shutdown, process, order, exits, lines };
}

const never = (): Promise<void> => new Promise(() => undefined);

describe('a stop', () => {
  it.each(['SIGTERM', 'SIGINT'])(
    'by %s says it is not ready, drains for 20 s, closes in order and exits',
    async (signal) => {
      const { shutdown, process, order, exits } = start();
      expect(shutdown.isStopping()).toBe(false);
      process.emit(signal);
      expect(shutdown.isStopping()).toBe(true);
      await expect.poll(() => exits).toEqual([0]);
      expect(order).toEqual(['http 20000 true', 'passes', 'database']);
    },
  );

  it('is forced by a second signal', async () => {
    const { process, exits, order } = start({ closeServer: never });
    process.emit('SIGTERM');
    process.emit('SIGINT');
    expect(exits).toEqual([1]);
    expect(order).toEqual([]);
  });

  it('closes the rest when one step fails, and says so by the exit code', async () => {
    const { shutdown, order, lines } = start({
      closeServer: async () => {
        throw new Error('port is gone');
      },
    });
    expect(await shutdown.stop('test')).toBe(1);
    expect(order).toEqual(['passes', 'database']);
    expect(lines.join('')).toContain('port is gone');
  });

  it('gives up on a step that hangs', async () => {
    const impatient: Clock = { now: () => 0, sleep: (_ms, signal) => systemClock.sleep(5, signal) };
    const closed: string[] = [];
    const { shutdown, lines } = start({
      clock: impatient,
      closeServer: async () => undefined,
      steps: [
        { name: 'passes', close: never },
        { name: 'database', close: () => void closed.push('database') },
      ],
    });
    expect(await shutdown.stop('test')).toBe(1);
    expect(closed).toEqual(['database']);
    expect(lines.join('')).toContain('"step":"passes"');
  });

  it('happens once, however often it is asked for', async () => {
    const { shutdown, order } = start();
    const codes = await Promise.all([shutdown.stop('a'), shutdown.stop('b')]);
    expect(codes).toEqual([0, 0]);
    expect(order).toHaveLength(3);
  });

  it('leaves no handlers behind', () => {
    const { shutdown, process } = start();
    expect(process.listenerCount('SIGTERM')).toBe(1);
    shutdown.dispose();
    expect(process.listenerCount('SIGTERM') + process.listenerCount('SIGINT')).toBe(0);
  });
});
