import { Counter, collectDefaultMetrics, Registry } from 'prom-client';
import type { HistoryFacts } from '../platform/log-copy/place.ts';
import { type GoodsFacts, observeGoods } from './goods/keeping/goods-facts.ts';
import {
  type ChainFacts,
  observeChain,
  observePayments,
  observeX402Refusals,
  type PaymentsFacts,
} from './observe-chain.ts';
import { registerCounter, registerGauge, samplesByLabel, singleSample } from './register-metric.ts';

interface CatalogFacts {
  /** Number of listings in any state. */
  listings: number;
  live: number;
  fragmentBytes: number;
  textBytes: number;
  /** Bytes of finished responses in the cache. */
  pageBytes: number;
  /** Number of pages rendered since the start. */
  pagesMade: number;
  /** Age of the newest moment up to which the catalog contains every commit. */
  feedLagSeconds: number;
  /** Null until the part is loaded. */
  loadSeconds: { shelves: number | null; text: number | null };
}

export interface MetricsText {
  type: string;
  body: string;
}

export interface Metrics {
  /** Sources are called at each scrape. Setting a source again replaces it. */
  observeCatalog(read: () => CatalogFacts): void;
  observeLeaderships(read: () => Readonly<Record<string, boolean>>): void;
  observeUnnumberedMs(read: () => number): void;
  observeStreams(read: () => number): void;
  observeHistory(read: () => HistoryFacts): void;
  observeAdmission(read: () => AdmissionFacts): void;
  observeChain(read: () => ChainFacts): void;
  observePayments(read: () => PaymentsFacts | null): void;
  observeX402Refusals(read: () => ReadonlyMap<string, number>): void;
  /** Null in processes that do not lead the job. */
  observeGoods(read: () => GoodsFacts | null): void;
  /** Adds requests that were counted elsewhere. */
  observeReads(read: () => readonly { route: string; answered: number; notModified: number }[]): void;
  /** Cheap enough for each request. `route` is the route's pattern, never the URL; `budget` is the limit that was exceeded. */
  countRequest(route: string, status: number, budget?: string): void;
  text(): Promise<MetricsText>;
  /** Returns JSON for the supervisor, which joins the values of all processes. */
  values(): Promise<unknown>;
}

interface MetricsOptions {
  /** Label of this process, on every line. */
  worker: string;
  /** Whether to add memory, CPU, event loop and garbage collection. */
  withProcess: boolean;
}

/** Default metrics that are useless here: open handles by kind, and heap spaces. */
const OMITTED_METRICS = /^nodejs_(?:active_|heap_space_)/;

export function createMetrics({ worker, withProcess }: MetricsOptions): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ worker });
  const registers = [registry];
  if (withProcess) addProcess(registry);
  const requests = createRequestCounts();
  const countRefusal = countRefusals(registry);
  let refreshCatalog = (): void => {};
  let readReads: Parameters<Metrics['observeReads']>[0] = () => [];
  new Counter({
    name: 'openaisle_http_requests_total',
    help: 'Requests answered, by the pattern of their route and status',
    labelNames: ['route', 'status'] as const,
    registers,
    collect() {
      this.reset();
      requests.each((route, status, count) => this.inc({ route, status }, count));
      for (const { route, answered, notModified } of readReads()) {
        this.inc({ route, status: '200' }, answered);
        this.inc({ route, status: '304' }, notModified);
      }
    },
  });
  return {
    observeCatalog: (read) => {
      // Read the facts once per scrape: counting the catalog's memory is slow.
      let facts = read();
      refreshCatalog = () => {
        facts = read();
      };
      observeCatalog(registry, () => facts);
    },
    observeLeaderships: (read) => observeLeaderships(registry, read),
    observeUnnumberedMs: (read) =>
      registerGauge(registry, {
        name: 'openaisle_events_sequencer_lag_seconds',
        formerName: 'openaisle_events_unnumbered_seconds',
        help: 'Age of the oldest event that has no number yet',
        read: () => singleSample(read() / 1_000),
      }),
    observeStreams: (read) =>
      registerGauge(registry, {
        name: 'openaisle_event_streams_open',
        help: 'Clients that follow the event stream',
        read: () => singleSample(read()),
      }),
    observeHistory: (read) => observeHistory(registry, read),
    observeAdmission: (read) => observeAdmission(registry, read),
    observeChain: (read) => observeChain(registry, read),
    observePayments: (read) => observePayments(registry, read),
    observeX402Refusals: (read) => observeX402Refusals(registry, read),
    observeGoods: (read) => observeGoods(registry, read),
    observeReads: (read) => {
      readReads = read;
    },
    countRequest: (route, status, budget) => {
      requests.count(route, status);
      if (budget !== undefined) countRefusal(budget);
    },
    text: async () => {
      refreshCatalog();
      return { type: registry.contentType, body: await registry.metrics() };
    },
    values: async () => {
      refreshCatalog();
      return registry.getMetricsAsJSON();
    },
  };
}

function observeLeaderships(registry: Registry, read: Parameters<Metrics['observeLeaderships']>[0]): void {
  const samples = (label: string) => () =>
    Object.entries(read()).map(([job, isLeader]) => ({ labels: { [label]: job }, value: isLeader ? 1 : 0 }));
  const help = 'Whether this process leads this background job';
  registerGauge(registry, { name: 'openaisle_job_leader', help, labelNames: ['job'], read: samples('job') });
  // The former name has another label.
  const former = { name: 'openaisle_duty_held', help: `${help} (deprecated: use openaisle_job_leader)` };
  registerGauge(registry, { ...former, labelNames: ['duty'], read: samples('duty') });
}

function observeHistory(registry: Registry, read: () => HistoryFacts): void {
  const flag = (name: string, help: string, pick: (facts: HistoryFacts) => boolean): void =>
    registerGauge(registry, { name, help, read: () => singleSample(pick(read()) ? 1 : 0) });
  flag('openaisle_history_lost', 'Whether the database has lost events that were already public', ({ lost }) => lost);
  flag(
    'openaisle_log_copy_present',
    'Whether a copy of the log exists that would reveal a loss',
    ({ remembers }) => remembers,
  );
  flag(
    'openaisle_log_copy_writer',
    'Whether this process writes its host’s copy of the log',
    ({ writesCopy }) => writesCopy,
  );
  flag('openaisle_log_copy_failing', 'Whether writing the copy of the log fails', ({ copyFails }) => copyFails);
  registerGauge(registry, {
    name: 'openaisle_log_copy_behind_seconds',
    help: 'How long this host’s copy of the log has been behind',
    read: () => singleSample(read().copyBehindSeconds),
  });
}

function countRefusals(registry: Registry): (budget: string) => void {
  const refusals = new Counter({
    name: 'openaisle_budget_refusals_total',
    help: 'Requests refused because a named limit was used up',
    labelNames: ['budget'] as const,
    registers: [registry],
  });
  return (budget) => refusals.inc({ budget });
}

export function addProcess(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  for (const { name } of registry.getMetricsAsArray())
    if (OMITTED_METRICS.test(name)) registry.removeSingleMetric(name);
}

function observeCatalog(registry: Registry, read: () => CatalogFacts): void {
  registerGauge(registry, {
    name: 'openaisle_catalog_listings',
    help: 'Listings in memory',
    labelNames: ['state'],
    read: () => samplesByLabel('state', { live: read().live, ended: read().listings - read().live }),
  });
  registerGauge(registry, {
    name: 'openaisle_catalog_bytes',
    help: 'Memory used by the catalog',
    labelNames: ['part'],
    read: () => {
      const { fragmentBytes, textBytes, pageBytes } = read();
      return samplesByLabel('part', { fragments: fragmentBytes, text: textBytes, pages: pageBytes });
    },
  });
  registerGauge(registry, {
    name: 'openaisle_catalog_load_seconds',
    help: 'Load time of the catalog',
    labelNames: ['part'],
    read: () => samplesByLabel('part', read().loadSeconds),
  });
  registerGauge(registry, {
    name: 'openaisle_catalog_feed_lag_seconds',
    help: 'Age of the newest moment up to which the catalog has every commit',
    read: () => singleSample(read().feedLagSeconds),
  });
  registerCounter(registry, {
    name: 'openaisle_catalog_pages_rendered_total',
    formerName: 'openaisle_catalog_pages_made_total',
    help: 'Pages of listings rendered because the cache had no current one',
    read: () => singleSample(read().pagesMade),
  });
}

interface RequestCounts {
  count(route: string, status: number): void;
  each(report: (route: string, status: string, count: number) => void): void;
}

const STATUSES = 600;

/** Counts on the hot path: one lookup and one addition; allocates only for a route's first request. */
function createRequestCounts(): RequestCounts {
  const byRoute = new Map<string, Float64Array>();

  return {
    count: (route, status) => {
      let counts = byRoute.get(route);
      if (counts === undefined) {
        counts = new Float64Array(STATUSES);
        byRoute.set(route, counts);
      }
      // Statuses beyond the array would be dropped, but there are none.
      counts[status] = (counts[status] ?? 0) + 1;
    },
    each: (report) => {
      for (const [route, counts] of byRoute) {
        for (let status = 0; status < STATUSES; status += 1) {
          const count = counts[status] ?? 0;
          if (count > 0) report(route, status.toString(), count);
        }
      }
    },
  };
}

/** Load of the HTTP server, and requests and connections it has refused. */
interface AdmissionFacts {
  slotsTaken: number;
  socketsOpen: number;
  /** Number of refusals by rule. */
  rules: Readonly<Record<string, number>>;
}

function observeAdmission(registry: Registry, read: () => AdmissionFacts): void {
  registerGauge(registry, {
    name: 'openaisle_http_requests_in_flight',
    formerName: 'openaisle_http_places_taken',
    help: 'Requests in flight',
    read: () => singleSample(read().slotsTaken),
  });
  registerGauge(registry, {
    name: 'openaisle_http_connections_open',
    formerName: 'openaisle_http_sockets_open',
    help: 'Open connections, without event streams',
    read: () => singleSample(read().socketsOpen),
  });
  registerCounter(registry, {
    name: 'openaisle_http_rejected_total',
    formerName: 'openaisle_http_turned_away_total',
    help: 'Requests refused for load, and connections closed or cut, by rule',
    labelNames: ['rule'],
    read: () => samplesByLabel('rule', read().rules),
  });
}
