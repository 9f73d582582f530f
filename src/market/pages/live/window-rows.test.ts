import { expect, it } from 'vitest';
import type { MerchantRecord } from '../../../contract/merchant-record.ts';
import type { EventRecord } from '../../events/read-events.ts';
import { newcomersOf } from './window-page.ts';

const AT = '2026-01-05T12:00:00.000Z';
const merchant = (id: number): MerchantRecord => ({
  ...{ id, handle: `store-${id}`, joined_at: AT, store_line: '', store_url: `/api/store/store-${id}` },
  ...{ listings: 0, sales: 0, maintainer: false, city_handle: null },
});
const event = (id: number, kind: EventRecord['kind'], actor: string): EventRecord => ({
  id,
  at: AT,
  kind,
  actor,
  detail: {},
});

it('newcomers are the last of all merchants, or where not all are listed those that the events tell of', () => {
  const items = [1, 2, 3].map(merchant);
  const events = [event(9, 'register', 'store-700'), event(8, 'sale', 'store-2'), event(7, 'register', 'store-699')];
  const handles = (total: number): string[] => newcomersOf({ items, total }, events).map(({ handle }) => handle);
  expect(handles(3)).toEqual(['store-3', 'store-2', 'store-1']);
  expect(handles(700)).toEqual(['store-700', 'store-699']);
});
