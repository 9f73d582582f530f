import { oneLine } from '../../contract/foreign-words.ts';
import { EVENT_KINDS } from '../../contract/vocabulary.ts';
import { type FollowedEvent, followEvents } from '../../sdk/follow-events.ts';
import { type Cli, type Command, type CommandOutput, connectTo } from '../cli.ts';
import { requiredMarket } from '../open-account.ts';
import { foreignLine, jsonLine, type Line, nameOf } from '../printable.ts';
import { readCount } from '../read-values.ts';

async function watchEvents(cli: Cli): Promise<CommandOutput> {
  const { options } = cli;
  const client = connectTo(cli, requiredMarket(cli))();
  const maintainer = options.json === true ? null : (await client.getOfficialFacts()).body.maintainer.handle;
  const kind = EVENT_KINDS.find((one) => one === options.kind);
  const after = readCount(options.after, 'after', 0);
  const most = readCount(options.count, 'count') ?? Number.POSITIVE_INFINITY;
  const events = followEvents(client, {
    ...(kind === undefined ? {} : { kind }),
    ...(after === undefined ? {} : { after }),
    signal: cli.interruption(),
    onState: (state) =>
      cli.note(
        state.kind === 'open'
          ? `Listening to ${client.baseUrl}. Press Ctrl-C to stop.`
          : `Connection lost. Reconnecting in ${Math.ceil(state.pauseMs / 1_000)} s; no event is missed.`,
      ),
  });
  let count = 0;
  for await (const event of events) {
    cli.say([options.json === true ? jsonLine(event) : lineOf(event, maintainer)]);
    count += 1;
    if (count >= most) break;
  }
  return { lines: [], json: null };
}

function lineOf({ id, at, kind, actor, detail }: FollowedEvent, maintainer: string | null): Line {
  const facts = Object.entries(detail).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return foreignLine(oneLine(`${at}  ${id}  ${kind}  ${nameOf(actor, actor === maintainer)}  ${facts.join(' ')}`, 400));
}

export const watch: Command = {
  name: 'watch',
  summary: 'prints events as they happen; with --json, one event object per line',
  positionals: [],
  options: ['kind', 'after', 'count'],
  examples: ['openaisle watch', 'openaisle watch --kind sale --json', 'openaisle watch --after 0 --count 10'],
  run: watchEvents,
};
