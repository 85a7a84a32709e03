// The last ten minutes of some series, in memory that does not grow.

/** Points of a history: ten minutes, one each two seconds. */
export const POINTS = 300

export class Ring {
  readonly #columns: Float64Array[]
  #next = 0
  #length = 0

  /** Of so many series, beside the times. */
  constructor(
    series: number,
    readonly capacity = POINTS,
  ) {
    this.#columns = Array.from({ length: series + 1 }, () => new Float64Array(capacity))
  }

  get length(): number {
    return this.#length
  }

  /** A point in time, in seconds; `null` is a gap. */
  push(seconds: number, values: (number | null)[]): void {
    this.#columns.forEach((column, at) => {
      column[this.#next] = at === 0 ? seconds : (values[at - 1] ?? NaN)
    })
    this.#next = (this.#next + 1) % this.capacity
    this.#length = Math.min(this.#length + 1, this.capacity)
  }

  /** Times and series, the oldest first, as a chart takes them. */
  data(): (number | null)[][] {
    const start = (this.#next - this.#length + this.capacity) % this.capacity
    return this.#columns.map((column) =>
      Array.from({ length: this.#length }, (_, at) => {
        const value = column[(start + at) % this.capacity]!
        return Number.isNaN(value) ? null : value
      }),
    )
  }
}
