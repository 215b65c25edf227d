/** Label names with the values of one series. */
export type Labels<Name extends string = string> = Readonly<Record<Name, string>>;

export interface Series<Value> {
  readonly labels: Labels;
  readonly value: Value;
}

interface Definition<Kind extends string, Label extends string> {
  readonly kind: Kind;
  /** As Prometheus has it: base units, the unit in the name, `_total` at the end of a counter. */
  readonly name: string;
  readonly help: string;
  readonly labels: readonly Label[];
}

export type CounterDefinition<Label extends string = string> = Definition<'counter', Label>;

export interface GaugeDefinition<Label extends string = string> extends Definition<'gauge', Label> {
  /** What becomes of several values that are told for the same labels in one collection. */
  readonly merged: Merging;
}

export interface HistogramDefinition<Label extends string = string>
  extends Definition<'histogram', Label> {
  /** Upper bounds, ascending, without infinity. */
  readonly buckets: readonly number[];
}

export type Merging = 'sum' | 'max' | 'min';

/** Counts what has happened, from the start of the process. */
export class Counter<Label extends string = string> {
  readonly definition: CounterDefinition<Label>;
  readonly #children = new Children<Label, { value: number }>(() => ({ value: 0 }));

  constructor(definition: CounterDefinition<Label>) {
    this.definition = definition;
  }

  add(labels: Labels<Label>, count = 1): void {
    this.#children.of(this.definition.labels, labels).value += count;
  }

  /** The series exists, be it 0: what never happened is not the same as what nobody looks at. */
  expect(labels: Labels<Label>): void {
    this.add(labels, 0);
  }

  get series(): Series<number>[] {
    return this.#children.all.map(({ labels, child }) => ({ labels, value: child.value }));
  }
}

/** What is so now. Told anew in each collection: what is not told any more is not there any more. */
export class Gauge<Label extends string = string> {
  readonly definition: GaugeDefinition<Label>;
  readonly #children = new Children<Label, { value: number | undefined }>(() => ({
    value: undefined,
  }));

  constructor(definition: GaugeDefinition<Label>) {
    this.definition = definition;
  }

  tell(labels: Labels<Label>, value: number): void {
    const child = this.#children.of(this.definition.labels, labels);
    child.value =
      child.value === undefined ? value : merge[this.definition.merged](child.value, value);
  }

  clear(): void {
    this.#children.clear();
  }

  get series(): Series<number>[] {
    return this.#children.all.map(({ labels, child }) => ({ labels, value: child.value ?? 0 }));
  }
}

const merge: Readonly<Record<Merging, (one: number, other: number) => number>> = {
  sum: (one, other) => one + other,
  max: Math.max,
  min: Math.min,
};

export interface Distribution {
  /** How many values are at most the bound of the same index, without those of the buckets before; the last: above all. */
  readonly counts: readonly number[];
  readonly count: number;
  readonly sum: number;
}

/** One series of a histogram, to be kept where values come often. */
export class Recorder implements Distribution {
  readonly counts: number[];
  count = 0;
  sum = 0;
  readonly #buckets: readonly number[];
  readonly #forward: ((value: number) => void) | undefined;

  constructor(buckets: readonly number[], forward: ((value: number) => void) | undefined) {
    this.#buckets = buckets;
    this.#forward = forward;
    this.counts = Array.from({ length: buckets.length + 1 }, () => 0);
  }

  record(value: number): void {
    const buckets = this.#buckets;
    let index = 0;
    while (index < buckets.length && value > (buckets[index] as number)) index += 1;
    (this.counts[index] as number) += 1;
    this.count += 1;
    this.sum += value;
    this.#forward?.(value);
  }
}

export class Histogram<Label extends string = string> {
  readonly definition: HistogramDefinition<Label>;
  /** Where each value is passed on to, for exporters that cannot take counts. */
  forward: ((labels: Labels, value: number) => void) | undefined;
  readonly #children: Children<Label, Recorder>;

  constructor(definition: HistogramDefinition<Label>) {
    this.definition = definition;
    this.#children = new Children((labels) => {
      const { forward } = this;
      return new Recorder(
        definition.buckets,
        forward === undefined ? undefined : (value) => forward(labels, value),
      );
    });
  }

  of(labels: Labels<Label>): Recorder {
    return this.#children.of(this.definition.labels, labels);
  }

  record(labels: Labels<Label>, value: number): void {
    this.of(labels).record(value);
  }

  get series(): Series<Distribution>[] {
    return this.#children.all.map(({ labels, child }) => ({ labels, value: child }));
  }
}

/** The series of one instrument, by the values of its labels. */
class Children<Label extends string, Child> {
  readonly #create: (labels: Labels) => Child;
  readonly #byValues = new Map<string, { readonly labels: Labels; readonly child: Child }>();

  constructor(create: (labels: Labels) => Child) {
    this.#create = create;
  }

  of(names: readonly Label[], labels: Labels<Label>): Child {
    const key = names.map((name) => labels[name]).join('\0');
    const present = this.#byValues.get(key);
    if (present !== undefined) return present.child;
    // Only what was declared, in that order, whatever else an object has.
    const own = Object.fromEntries(names.map((name) => [name, labels[name]]));
    const child = this.#create(own);
    this.#byValues.set(key, { labels: own, child });
    return child;
  }

  get all(): { readonly labels: Labels; readonly child: Child }[] {
    return [...this.#byValues.values()];
  }

  clear(): void {
    this.#byValues.clear();
  }
}
