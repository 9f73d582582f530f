import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { HistoryFacts } from '../platform/log-copy/place.ts';
import {
  type ChainFacts,
  observeChain,
  observePayments,
  observeX402Refusals,
  type PaymentsFacts,
  renamed,
} from './observe-chain.ts';

/** What is measured of a catalog in memory. */
interface CatalogFacts {
  /** All of them, and those of them on the shelves. */
  listings: number;
  live: number;
  fragmentBytes: number;
  textBytes: number;
  /** Finished responses in the cache. */
  pageBytes: number;
  /** How often a page was made since the start. */
  pagesMade: number;
  /** How long ago everything committed until then was known to be in. */
  feedLagSeconds: number;
  /** Null: not loaded yet. */
  loadSeconds: { shelves: number | null; text: number | null };
}

export interface MetricsText {
  type: string;
  body: string;
}

export interface Metrics {
  /** Each of these is called whenever the metrics are read; the last one given counts. */
  observeCatalog(read: () => CatalogFacts): void;
  observeLeaderships(read: () => Readonly<Record<string, boolean>>): void;
  observeUnnumberedMs(read: () => number): void;
  observeStreams(read: () => number): void;
  observeHistory(read: () => HistoryFacts): void;
  observeAdmission(read: () => AdmissionFacts): void;
  observeChain(read: () => ChainFacts): void;
  observePayments(read: () => PaymentsFacts | null): void;
  observeX402Refusals(read: () => ReadonlyMap<string, number>): void;
  /** Requests that are counted elsewhere. */
  observeReads(read: () => readonly { route: string; answered: number; notModified: number }[]): void;
  /** Costs next to nothing. `route` is a pattern and never what was asked for; `budget` the named limit that was used up. */
  countRequest(route: string, status: number, budget?: string): void;
  text(): Promise<MetricsText>;
  /** For another process to put together with those of others; JSON. */
  values(): Promise<unknown>;
}

interface MetricsOptions {
  /** Which process this is: on every line. */
  worker: string;
  /** Memory, processor, event loop and garbage collection as well. */
  withProcess: boolean;
}

/** What tells nothing here: numbers of open handles by kind, spaces of the heap. */
const LEFT_OUT = /^nodejs_(?:active_|heap_space_)/;

export function createMetrics({ worker, withProcess }: MetricsOptions): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ worker });
  const registers = [registry];
  if (withProcess) addProcess(registry);
  const requests = createRequestCounts();
  const countSpent = createSpent(registry);
  let look = (): void => {};
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
      // Once for all that is told of it: counting its memory takes a while.
      let facts = read();
      look = () => {
        facts = read();
      };
      observeCatalog(registry, () => facts);
    },
    observeLeaderships: (read) => observeLeaderships(registry, read),
    observeUnnumberedMs: (read) =>
      renamed('openaisle_events_sequencer_lag_seconds', 'openaisle_events_unnumbered_seconds', (name, note) =>
        observeNumber(registry, name, `How long the oldest event has waited for its number${note}`, () => {
          return read() / 1_000;
        }),
      ),
    observeStreams: (read) =>
      observeNumber(registry, 'openaisle_event_streams_open', 'Clients that listen to the log', read),
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
      if (budget !== undefined) countSpent(budget);
    },
    text: async () => {
      look();
      return { type: registry.contentType, body: await registry.metrics() };
    },
    values: async () => {
      look();
      return registry.getMetricsAsJSON();
    },
  };
}

function observeLeaderships(registry: Registry, read: Parameters<Metrics['observeLeaderships']>[0]): void {
  renamed('openaisle_job_leader', 'openaisle_duty_held', (name, note) => {
    const label = note === '' ? 'job' : 'duty';
    registry.removeSingleMetric(name);
    new Gauge({
      name,
      help: `Whether this process is the leader that runs this job${note}`,
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
  flag('openaisle_history_lost', 'Whether the database holds less than what was public', ({ lost }) => lost);
  flag(
    'openaisle_log_copy_present',
    'Whether there is a copy of the log that would show a loss',
    ({ remembers }) => remembers,
  );
  flag('openaisle_log_copy_writer', 'Whether this process writes the copy of its host', ({ writesCopy }) => writesCopy);
  flag('openaisle_log_copy_failing', 'Whether the copy could not be written', ({ copyFails }) => copyFails);
  observeNumber(
    registry,
    'openaisle_log_copy_behind_seconds',
    'For how long the copy of this host has not grown while the log did',
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

function createSpent(registry: Registry): (budget: string) => void {
  const spent = new Counter({
    name: 'openaisle_budget_refusals_total',
    help: 'Requests refused since a named limit was used up',
    labelNames: ['budget'] as const,
    registers: [registry],
  });
  return (budget) => spent.inc({ budget });
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
  byLabel('openaisle_catalog_bytes', 'Memory the catalog takes', 'part', () => {
    const { fragmentBytes, textBytes, pageBytes } = read();
    return { fragments: fragmentBytes, text: textBytes, pages: pageBytes };
  });
  byLabel('openaisle_catalog_load_seconds', 'How long it took to load', 'part', () => read().loadSeconds);
  observeNumber(
    registry,
    'openaisle_catalog_feed_lag_seconds',
    'Age of the newest moment that is wholly in memory',
    () => {
      return read().feedLagSeconds;
    },
  );
  const counted = (name: string, help: string, pick: (facts: CatalogFacts) => number): void => {
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
  renamed('openaisle_catalog_pages_rendered_total', 'openaisle_catalog_pages_made_total', (name, note) =>
    counted(
      name,
      `Pages of listings that were rendered, since the cache had none of that version${note}`,
      ({ pagesMade }) => pagesMade,
    ),
  );
}

interface RequestCounts {
  count(route: string, status: number): void;
  each(visit: (route: string, status: string, count: number) => void): void;
}

const STATUSES = 600;

/** A counter that a hot path can afford: one look-up and one addition, nothing allocated after the first. */
function createRequestCounts(): RequestCounts {
  const byRoute = new Map<string, Float64Array>();

  return {
    count: (route, status) => {
      let counts = byRoute.get(route);
      if (counts === undefined) {
        counts = new Float64Array(STATUSES);
        byRoute.set(route, counts);
      }
      // One outside of the array is dropped: there is none.
      counts[status] = (counts[status] ?? 0) + 1;
    },
    each: (visit) => {
      for (const [route, counts] of byRoute) {
        for (let status = 0; status < STATUSES; status += 1) {
          const count = counts[status] ?? 0;
          if (count > 0) visit(route, status.toString(), count);
        }
      }
    },
  };
}

/** What the server lets in, and what it turns away or cuts. */
interface AdmissionFacts {
  slotsTaken: number;
  socketsOpen: number;
  /** By rule. */
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
  renamed('openaisle_http_requests_in_flight', 'openaisle_http_places_taken', (name, note) =>
    gauge(name, `Requests in flight${note}`, ({ slotsTaken }) => slotsTaken),
  );
  renamed('openaisle_http_connections_open', 'openaisle_http_sockets_open', (name, note) =>
    gauge(name, `Connections that are no event streams${note}`, ({ socketsOpen }) => socketsOpen),
  );
  renamed('openaisle_http_rejected_total', 'openaisle_http_turned_away_total', (name, note) => {
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
