import { describe, expect, it } from 'vitest';
import { createEventPrinter, type DemoEvent, type EventPrinterOptions } from './tell.ts';

const STORY: DemoEvent[] = [
  { kind: 'step', number: 1, of: 2, name: 'join', title: 'They join' },
  { kind: 'asking', method: 'POST', path: '/api/register', sent: [] },
  { kind: 'request', method: 'POST', path: '/api/register', sent: ['Authorization'], status: 200, word: 'staged' },
  { kind: 'waiting', text: 'two blocks to go' },
  { kind: 'held', text: 'it is so' },
];

function written(options: Partial<EventPrinterOptions> & { isTTY: boolean }): string {
  let text = '';
  const stream = { isTTY: options.isTTY, write: (more: string) => (text += more) };
  const tell = createEventPrinter({ json: false, colour: null, ...options, stream });
  for (const told of STORY) tell(told);
  return text;
}

const ESCAPE = '\u001b';

describe('what is told', () => {
  it('into a file is plain lines, without colours and without what only passes', () => {
    const text = written({ isTTY: false });
    expect(text).not.toContain(ESCAPE);
    expect(text).not.toContain('\r');
    expect(text.split('\n').map((line) => line.trimEnd().replace(/ {2,}/g, ' '))).toEqual([
      '',
      '1/2 They join',
      ' POST /api/register Authorization 200 staged',
      ' ... two blocks to go',
      ' ok it is so',
      '',
    ]);
  });

  it('on a terminal is coloured, and what passes is written over', () => {
    const text = written({ isTTY: true });
    expect(text).toContain(`${ESCAPE}[32m`);
    expect(text).toContain('\r');
    expect(text.split('\n')).toHaveLength(5);
  });

  it('on a terminal without colours still shows progress', () => {
    const text = written({ isTTY: true, colour: false });
    expect(text).not.toContain(`${ESCAPE}[32m`);
    expect(text).toContain('\r');
  });

  it('as JSON is one object per line', () => {
    const lines = written({ isTTY: true, json: true }).trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as DemoEvent).kind)).toEqual(['step', 'request', 'waiting', 'held']);
  });
});
