import { describe, expect, test } from 'vitest';
import { recordingLog } from '../../test/support/recording-log.ts';
import { createMetrics } from './create-metrics.ts';
import { countRequests } from './start.ts';
import { createJoinedMetrics } from './supervisor.ts';

const OPTIONS = { worker: '1', withProcess: false };

describe('the metrics of one process', () => {
  test('report the current facts of the catalog', async () => {
    const metrics = createMetrics(OPTIONS);
    const facts = {
      listings: 10,
      live: 7,
      fragmentBytes: 1_700,
      textBytes: 300,
      pageBytes: 50,
      pagesMade: 12,
      feedLagSeconds: 0.25,
      loadSeconds: { shelves: 1.5, text: null as number | null },
    };
    metrics.observeCatalog(() => facts);
    const { type, body } = await metrics.text();
    expect(type).toContain('text/plain; version=0.0.4');
    expect(body.split('\n')).toEqual(
      expect.arrayContaining([
        '# TYPE openaisle_catalog_listings gauge',
        'openaisle_catalog_listings{state="live",worker="1"} 7',
        'openaisle_catalog_listings{state="ended",worker="1"} 3',
        'openaisle_catalog_bytes{part="fragments",worker="1"} 1700',
        'openaisle_catalog_bytes{part="text",worker="1"} 300',
        'openaisle_catalog_bytes{part="pages",worker="1"} 50',
        'openaisle_catalog_pages_rendered_total{worker="1"} 12',
        'openaisle_catalog_feed_lag_seconds{worker="1"} 0.25',
        'openaisle_catalog_load_seconds{part="shelves",worker="1"} 1.5',
      ]),
    );
    expect(body).not.toContain('load_seconds{part="text"');
    facts.loadSeconds.text = 4;
    facts.live = 6;
    const { body: later } = await metrics.text();
    expect(later).toContain('openaisle_catalog_load_seconds{part="text",worker="1"} 4');
    expect(later).toContain('openaisle_catalog_listings{state="live",worker="1"} 6');
  });

  test('report leaders and the oldest event without a number', async () => {
    const metrics = createMetrics(OPTIONS);
    metrics.observeLeaderships(() => ({ reconcile: true, prune_changes: false }));
    metrics.observeUnnumberedMs(() => 1_500);
    const { body } = await metrics.text();
    expect(body).toContain('openaisle_job_leader{job="reconcile",worker="1"} 1');
    expect(body).toContain('openaisle_job_leader{job="prune_changes",worker="1"} 0');
    expect(body).toContain('openaisle_events_sequencer_lag_seconds{worker="1"} 1.5');
  });

  test('that were renamed are shown under both names, and the old one says which replaces it', async () => {
    const metrics = createMetrics(OPTIONS);
    metrics.observeLeaderships(() => ({ reconcile: true }));
    const { body } = await metrics.text();
    expect(body).toContain('openaisle_duty_held{duty="reconcile",worker="1"} 1');
    expect(body).toMatch(/^# HELP openaisle_duty_held .* \(deprecated: use openaisle_job_leader\)$/m);
    expect(body).toMatch(/^# HELP openaisle_job_leader Whether .* this background job$/m);
  });

  test('a later observer replaces the one before', async () => {
    const metrics = createMetrics(OPTIONS);
    metrics.observeUnnumberedMs(() => 1_000);
    metrics.observeUnnumberedMs(() => 2_000);
    metrics.observeLeaderships(() => ({ one: true }));
    metrics.observeLeaderships(() => ({ two: true }));
    const { body } = await metrics.text();
    expect(body.match(/^openaisle_events_sequencer_lag_seconds.*$/gm)).toEqual([
      'openaisle_events_sequencer_lag_seconds{worker="1"} 2',
    ]);
    expect(body).not.toContain('job="one"');
  });

  test('count requests by route and status, once however often they are read', async () => {
    const metrics = createMetrics(OPTIONS);
    const log = countRequests(recordingLog().log, metrics.countRequest).with({ pid: 1 });
    for (const status of [200, 200, 404]) log.info('request', { route: '/api/listing/:id', status });
    log.info('stopping', { signal: 'SIGTERM' });
    log.info('request', { route: '/api/register', status: 429, budget: 'registration_per_hour' });
    metrics.observeReads(() => [{ route: '/api/shelves', answered: 5, notModified: 2 }]);
    await metrics.text();
    const { body } = await metrics.text();
    expect(body.match(/^openaisle_http_requests_total.*$/gm)).toEqual([
      'openaisle_http_requests_total{route="/api/listing/:id",status="200",worker="1"} 2',
      'openaisle_http_requests_total{route="/api/listing/:id",status="404",worker="1"} 1',
      'openaisle_http_requests_total{route="/api/register",status="429",worker="1"} 1',
      'openaisle_http_requests_total{route="/api/shelves",status="200",worker="1"} 5',
      'openaisle_http_requests_total{route="/api/shelves",status="304",worker="1"} 2',
    ]);
    expect(body).toContain('openaisle_budget_refusals_total{budget="registration_per_hour",worker="1"} 1');
  });

  test('measure the process only where they are wanted', async () => {
    const wanted = await createMetrics({ worker: '1', withProcess: true }).text();
    for (const name of [
      'process_resident_memory_bytes',
      'process_cpu_seconds_total',
      'nodejs_eventloop_lag_p99_seconds',
    ])
      expect(wanted.body).toMatch(new RegExp(`^${name}\\{worker="1"\\} [\\d.e-]+$`, 'm'));
    expect((await createMetrics(OPTIONS).text()).body).not.toContain('process_');
  });
});

test('those of several processes are one text, each metric named once and each line with its process', async () => {
  const processes = ['1', '2'].map((worker) => createMetrics({ worker, withProcess: true }));
  const [first, second] = processes;
  first?.countRequest('/', 200);
  second?.countRequest('/', 200);
  second?.countRequest('/', 200);
  const joined = createJoinedMetrics({
    state: () => ({ ready: 2, restarts: 1 }),
    // Serialize the values, as workers do when they send them.
    ask: async () =>
      Promise.all(
        processes.map(async (metrics, index) => ({
          number: index + 1,
          answer: JSON.parse(JSON.stringify(await metrics.values())),
        })),
      ),
  });
  const { body } = await joined.text();
  expect(body.match(/^openaisle_http_requests_total.*$/gm)).toEqual([
    'openaisle_http_requests_total{route="/",status="200",worker="1"} 1',
    'openaisle_http_requests_total{route="/",status="200",worker="2"} 2',
  ]);
  expect(body.match(/^process_start_time_seconds\{worker="(.)"\}/gm)).toHaveLength(3);
  expect(body).toContain('openaisle_workers_ready{worker="0"} 2');
  expect(body).toContain('openaisle_worker_restarts_total{worker="0"} 1');
  const types = body.match(/^# TYPE .*$/gm) ?? [];
  expect(new Set(types).size).toBe(types.length);
});
