import { Counter, Gauge, type Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;

export interface Sample {
  labels: Labels;
  value: number;
}

export interface Metric {
  name: string;
  /** Name in the previous version, under which the metric is also exported for one version. */
  formerName?: string;
  help: string;
  labelNames?: readonly string[];
  /** Called at each scrape. Omits unknown values. */
  read(): readonly Sample[];
}

/** Registers a gauge, and replaces an earlier one of the same name. */
export function registerGauge(registry: Registry, metric: Metric): void {
  for (const { name, help } of namesOf(metric)) {
    const labelNames = [...(metric.labelNames ?? [])];
    registry.removeSingleMetric(name);
    new Gauge({
      ...{ name, help, labelNames },
      registers: [registry],
      collect() {
        // Without labels, reset() would report 0 for an unknown value.
        if (labelNames.length === 0) this.remove();
        else this.reset();
        for (const { labels, value } of metric.read()) this.set({ ...labels }, value);
      },
    });
  }
}

/** Registers a counter whose total is counted elsewhere, and replaces an earlier one of the same name. */
export function registerCounter(registry: Registry, metric: Metric): void {
  for (const { name, help } of namesOf(metric)) {
    registry.removeSingleMetric(name);
    new Counter({
      ...{ name, help, labelNames: [...(metric.labelNames ?? [])] },
      registers: [registry],
      collect() {
        this.reset();
        for (const { labels, value } of metric.read()) this.inc({ ...labels }, value);
      },
    });
  }
}

function namesOf({ name, formerName, help }: Metric): { name: string; help: string }[] {
  const former = formerName === undefined ? [] : [{ name: formerName, help: `${help} (deprecated: use ${name})` }];
  return [{ name, help }, ...former];
}

/** Returns the sample of a metric without labels, or none if the value is unknown. */
export function singleSample(value: number | null | undefined): Sample[] {
  return value === null || value === undefined ? [] : [{ labels: {}, value }];
}

/** Returns one sample for each known value, with its key as the label. */
export function samplesByLabel(label: string, values: Readonly<Record<string, number | null>>): Sample[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === null ? [] : [{ labels: { [label]: key }, value }],
  );
}
