import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { HistoryFacts } from '../platform/log-copy/place.ts';
import {
  type ChainFacts,
  observeChain,
  observePayments,
  observeX402Refusals,
  type PaymentsFacts,
  withFormerName,
} from './observe-chain.ts';

/** Measurements of a catalog in memory. */
interface CatalogFacts {
  /** Listings in every state. */
  listings: number;
  live: number;
  fragmentBytes: number;
  textBytes: number;
  /** Finished responses in the cache. */
  pageBytes: number;
  /** Pages rendered since the start. */
  pagesMade: number;
  /** Age of the newest moment up to which the catalog has every commit. */
  feedLagSeconds: number;
  /** Null until loaded. */
  loadSeconds: { shelves: number | null; text: number | null };
}

export interface MetricsText {
  type: string;
  body: string;
}

export interface Metrics {
  /** Sources are called whenever metrics are read. Setting one again replaces it. */
  observeCatalog(read: () => CatalogFacts): void;
  observeLeaderships(read: () => Readonly<Record<string, boolean>>): void;
  observeUnnumberedMs(read: () => number): void;
  observeStreams(read: () => number): void;
  observeHistory(read: () => HistoryFacts): void;
  observeAdmission(read: () => AdmissionFacts): void;
  observeChain(read: () => ChainFacts): void;
  observePayments(read: () => PaymentsFacts | null): void;
  observeX402Refusals(read: () => ReadonlyMap<string, number>): void;
  /** Adds requests that were counted elsewhere. */
  observeReads(read: () => readonly { route: string; answered: number; notModified: number }[]): void;
  /** Cheap. `route` is the route's pattern, never the URL; `budget` is the limit that was used up. */
  countRequest(route: string, status: number, budget?: string): void;
  text(): Promise<MetricsText>;
  /** JSON for the supervisor, which joins the values of all processes. */
  values(): Promise<unknown>;
}

interface MetricsOptions {
  /** Label of this process, on every line. */
  worker: string;
  /** Adds memory, CPU, event loop and garbage collection. */
  withProcess: boolean;
}

/** Left out as useless here: open handles by kind, heap spaces. */
const LEFT_OUT = /^nodejs_(?:active_|heap_space_)/;

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
      withFormerName('openaisle_events_sequencer_lag_seconds', 'openaisle_events_unnumbered_seconds', (name, note) =>
        observeNumber(registry, name, `Age of the oldest event that has no number yet${note}`, () => {
          return read() / 1_000;
        }),
      ),
    observeStreams: (read) =>
      observeNumber(registry, 'openaisle_event_streams_open', 'Clients that follow the event stream', read),
    observeHistory: (read) => observeHistory(registry, read),
    observeAdmission: (read) => observeAdmission(registry, read),
    observeChain: (read) => observeChain(registry, read),
    observePayments: (read) => observePayments(registry, read),
    observeX402Refusals: (read) => observeX402Refusals(registry, read),
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
  withFormerName('openaisle_job_leader', 'openaisle_duty_held', (name, note) => {
    const label = note === '' ? 'job' : 'duty';
    registry.removeSingleMetric(name);
    new Gauge({
      name,
      help: `Whether this process leads this background job${note}`,
      labelNames: [label],
      registers: [registry],
      collect() {
        for (const [job, isLeader] of Object.entries(read())) this.set({ [label]: job }, isLeader ? 1 : 0);
      },
    });
  });
}

function observeHistory(registry: Registry, read: () => HistoryFacts): void {
  const flag = (name: string, help: string, pick: (facts: HistoryFacts) => boolean): void =>
    observeNumber(registry, name, help, () => (pick(read()) ? 1 : 0));
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
  observeNumber(
    registry,
    'openaisle_log_copy_behind_seconds',
    'How long this host’s copy of the log has been behind',
    () => read().copyBehindSeconds,
  );
}

export function observeNumber(registry: Registry, name: string, help: string, read: () => number): void {
  registry.removeSingleMetric(name);
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
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
  for (const { name } of registry.getMetricsAsArray()) if (LEFT_OUT.test(name)) registry.removeSingleMetric(name);
}

function observeCatalog(registry: Registry, read: () => CatalogFacts): void {
  const byLabel = (name: string, help: string, label: string, pick: () => Readonly<Record<string, number | null>>) => {
    registry.removeSingleMetric(name);
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [registry],
      collect() {
        this.reset();
        for (const [key, value] of Object.entries(pick())) if (value !== null) this.set({ [label]: key }, value);
      },
    });
  };
  byLabel('openaisle_catalog_listings', 'Listings in memory', 'state', () => {
    const { listings, live } = read();
    return { live, ended: listings - live };
  });
  byLabel('openaisle_catalog_bytes', 'Memory used by the catalog', 'part', () => {
    const { fragmentBytes, textBytes, pageBytes } = read();
    return { fragments: fragmentBytes, text: textBytes, pages: pageBytes };
  });
  byLabel('openaisle_catalog_load_seconds', 'Load time of the catalog', 'part', () => read().loadSeconds);
  observeNumber(
    registry,
    'openaisle_catalog_feed_lag_seconds',
    'Age of the newest moment up to which the catalog has every commit',
    () => {
      return read().feedLagSeconds;
    },
  );
  const counter = (name: string, help: string, pick: (facts: CatalogFacts) => number): void => {
    registry.removeSingleMetric(name);
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(pick(read()));
      },
    });
  };
  withFormerName('openaisle_catalog_pages_rendered_total', 'openaisle_catalog_pages_made_total', (name, note) =>
    counter(
      name,
      `Pages of listings rendered because the cache had no current one${note}`,
      ({ pagesMade }) => pagesMade,
    ),
  );
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
      // A status outside the array would be dropped; none exists.
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
  placesTaken: number;
  socketsOpen: number;
  /** Refusals by rule. */
  rules: Readonly<Record<string, number>>;
}

function observeAdmission(registry: Registry, read: () => AdmissionFacts): void {
  const registers = [registry];
  const gauge = (name: string, help: string, pick: (facts: AdmissionFacts) => number): void => {
    registry.removeSingleMetric(name);
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(pick(read()));
      },
    });
  };
  withFormerName('openaisle_http_requests_in_flight', 'openaisle_http_places_taken', (name, note) =>
    gauge(name, `Requests in flight${note}`, ({ placesTaken }) => placesTaken),
  );
  withFormerName('openaisle_http_connections_open', 'openaisle_http_sockets_open', (name, note) =>
    gauge(name, `Open connections, without event streams${note}`, ({ socketsOpen }) => socketsOpen),
  );
  withFormerName('openaisle_http_rejected_total', 'openaisle_http_turned_away_total', (name, note) => {
    registry.removeSingleMetric(name);
    new Counter({
      name,
      help: `Requests refused for load, and connections closed or cut, by rule${note}`,
      labelNames: ['rule'] as const,
      registers,
      collect() {
        this.reset();
        for (const [rule, count] of Object.entries(read().rules)) this.inc({ rule }, count);
      },
    });
  });
}
