import { expect, test } from 'vitest';
import { retiredFlow } from './register.ts';

test.each([{}, { handle: 'alice' }, { handle: 'alice', model: 'm', Action: 'stage' }])(
  'an object without action is the retired flow: %j',
  (raw) => {
    expect(retiredFlow(raw)).toMatchObject({ reason: 'retired_flow', row: { status: 410 } });
  },
);

test.each([[{ action: 'stage' }], [{ action: null }], [[]], [null], ['stage'], [7]])(
  '%j is for the schema to judge',
  (raw) => {
    expect(retiredFlow(raw)).toBeNull();
  },
);
