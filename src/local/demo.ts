import { isAbsolute, relative } from 'node:path';
import { systemClock } from '../platform/clock.ts';
import { STOP_SIGNALS } from '../platform/shutdown.ts';
import { makeAgentHome } from './agent-home.ts';
import { portsFrom } from './open-servers.ts';
import { type DemoArguments, HELP, readArguments, WrongArguments } from './read-arguments.ts';
import type { Goods } from './story/scene.ts';
import { StepFailed, tellStory } from './story/tell-story.ts';
import { createEventPrinter, type EventPrinter } from './tell.ts';
import { type LocalWorld, startWorld } from './world.ts';

const INTERRUPTED_CODE = 130;
const USAGE_CODE = 2;
const PARENT_WATCH_MS = 500;

/**
 * Starts the world, runs the story and, without `--exit`, serves until stopped. Resolves with the exit code when everything has stopped.
 */
async function runDemo(args: DemoArguments, tell: EventPrinter): Promise<number> {
  const { dataDir, finalityBlocks, firstPort, mcp } = args;
  const signal = abortOnSignal();
  const startedMs = systemClock.now();
  const end = (ok: boolean, text: string): void =>
    tell({ kind: 'end', ok, text, seconds: (systemClock.now() - startedMs) / 1_000 });
  let world: LocalWorld | null = null;
  try {
    tell({ kind: 'title', text: 'Openaisle, the local world' });
    const onPart = (part: { name: string; url: string; detail: string; seconds: number }): void =>
      tell({ kind: 'part', ...part });
    world = await startWorld({ dataDir, finalityBlocks, ports: portsFrom(firstPort), signal, onPart });
    const goods = await whileRunning(world, signal, tellStory({ world, tell, signal, mcp }));
    const home = await makeAgentHome(world);
    end(true, 'Every step succeeded.');
    if (args.exit) return 0;
    tellWhereToLook(world, tell);
    tellWhatToTry({ world, goods, home }, tell);
    await whileRunning(world, null, whenAborted(signal));
    return 0;
  } catch (error) {
    if (signal.aborted) {
      end(false, 'Interrupted.');
      return INTERRUPTED_CODE;
    }
    if (error instanceof StepFailed) tell({ kind: 'broken', step: error.step, text: error.message });
    end(false, failureText(error, world));
    return 1;
  } finally {
    if (world !== null) {
      tell({
        kind: 'meaning',
        text: 'Closing: the market finishes its requests, then facilitator, city and chain stop.',
      });
      await world.stop();
      tell({ kind: 'meaning', text: 'Closed. Nothing is left running; the next start continues from here.' });
    }
  }
}

/**
 * Aborts on a stop signal such as Ctrl-C and, if npm started this process, when npm ends. Further signals change nothing, because a
 * half-finished stop would need repair at the next start.
 */
function abortOnSignal(): AbortSignal {
  const controller = new AbortController();
  const interrupt = (): void => controller.abort(new Error('interrupted'));
  for (const signal of STOP_SIGNALS) process.on(signal, interrupt);
  if (process.env['npm_lifecycle_event'] !== undefined) void parentEnd().then(interrupt);
  return controller.signal;
}

/** Resolves when the parent ends, because a signal to npm ends npm and its shell and is not forwarded. */
async function parentEnd(): Promise<void> {
  const parent = process.ppid;
  while (process.ppid === parent) await systemClock.sleep(PARENT_WATCH_MS);
}

function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Returns the result. Throws if a part of the world ends first or the user interrupts. */
async function whileRunning<T>(world: LocalWorld, signal: AbortSignal | null, result: Promise<T>): Promise<T> {
  const died = world.ended.then((name) => {
    throw new Error(`The ${name} stopped unexpectedly.`);
  });
  const interrupted = signal === null ? [] : [whenAborted(signal).then(() => Promise.reject(signal.reason))];
  return await Promise.race([result, died, ...interrupted]);
}

function failureText(error: unknown, world: LocalWorld | null): string {
  const what =
    error instanceof StepFailed
      ? `The step ${error.step} failed.`
      : `${error instanceof Error ? error.message : String(error)}`;
  return world === null ? what : `${what} The servers' logs are in ${shownPath(world.dataDir)}/logs.`;
}

async function main(): Promise<number> {
  const args = readArguments(process.argv.slice(2));
  if (args.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const noColour = (process.env['NO_COLOR'] ?? '') !== '';
  const tell = createEventPrinter({ stream: process.stdout, json: args.json, colour: noColour ? false : null });
  return runDemo(args, tell);
}

try {
  process.exit(await main());
} catch (error) {
  console.error(error instanceof WrongArguments ? error.message : error);
  process.exit(error instanceof WrongArguments ? USAGE_CODE : 1);
}

function tellWhereToLook(world: LocalWorld, tell: EventPrinter): void {
  const { marketUrl, facilitatorUrl, cityUrl, chain, dataDir } = world;
  const folder = shownPath(dataDir);
  tell({
    kind: 'places',
    title: 'The market is open; Ctrl-C closes it. Where to look:',
    places: [
      { name: 'front door', what: `${marketUrl}/` },
      { name: 'shelves', what: `${marketUrl}/api/shelves` },
      { name: 'events', what: `${marketUrl}/api/events` },
      { name: 'treasury', what: `${marketUrl}/treasury` },
      { name: 'facts', what: `${marketUrl}/api/official` },
      { name: 'tools', what: `${marketUrl}/mcp (Model Context Protocol)` },
      { name: 'OpenAPI', what: `${marketUrl}/openapi.json` },
      { name: 'city', what: `${cityUrl}/` },
      { name: 'facilitator', what: `${facilitatorUrl}/supported` },
      { name: 'chain', what: `${chain.url} (JSON-RPC, chain id ${chain.chainId}; its money is worth nothing)` },
      { name: 'keys', what: `${folder}/keys` },
      { name: 'logs', what: `${folder}/logs` },
    ],
  });
}

function tellWhatToTry(
  { world, goods, home }: { world: LocalWorld; goods: Goods; home: string },
  tell: EventPrinter,
): void {
  const openaisle = 'npm run -s openaisle --';
  const selling = '--title "My first goods" --description "A text about this market." --price 0.5 --aisle knowledge';
  tell({
    kind: 'places',
    title: 'What to try, in another terminal (a wallet with test money and a merchant are in the folder):',
    places: [
      { name: 'first', what: `export OPENAISLE_MARKET=${world.marketUrl} OPENAISLE_HOME="${shownPath(home)}"` },
      { name: 'search', what: `${openaisle} search finality` },
      { name: 'buy', what: `${openaisle} buy ${goods.id} --max ${goods.priceUsdc}` },
      { name: 'sell', what: `${openaisle} sell README.md ${selling}` },
    ],
  });
}

/** Returns the path as a user in this folder would type it. */
function shownPath(path: string): string {
  const short = relative('', path);
  return short === '' || short.startsWith('..') || isAbsolute(short) ? path : short;
}
