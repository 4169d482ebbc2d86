/** What every bench says about its samples. */

/** The value below which a share of the samples lies, interpolated. */
function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const low = sorted[Math.floor(place)] ?? Number.NaN;
  const high = sorted[Math.ceil(place)] ?? Number.NaN;
  return low + (high - low) * (place - Math.floor(place));
}

export function median(values) {
  return quantile(values, 0.5);
}

/** The line that lies closest to [x, y] points: its slope, and the error. */
export function slopeOf(points) {
  const mean = (values) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [0, 1].map((axis) =>
    mean(points.map((point) => point[axis]))
  );
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  const slope =
    points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread;
  const rest = points.reduce(
    (sum, [x, y]) => sum + (y - meanY - slope * (x - meanX)) ** 2,
    0
  );
  return { slope, error: Math.sqrt(rest / (points.length - 2) / spread) };
}

/**
 * One line of a result table. `floor` is what the same work costs without us,
 * measured in the same run. `limit` is what we want to reach, and the table
 * judges; `guard`, not below it, is what `--check` refuses: the same unless
 * a busy machine needs room. Both are ratios unless `absolute` is given. An
 * `advisory` one is told, and fails no check.
 * `summary` has words for the summary table, if the line belongs there.
 * @param {string} name
 * @param {number[]} values
 * @param {Record<string, unknown>} [options]
 */
export function row(name, values, { floor, limit, unit = 'ms', ...rest } = {}) {
  const middle = median(values);
  const ratio = floor === undefined ? undefined : middle / median(floor);
  const measured = rest.absolute ? middle : ratio;
  const { guard = limit } = rest;
  return {
    name,
    unit,
    n: values.length,
    median: middle,
    p10: quantile(values, 0.1),
    p90: quantile(values, 0.9),
    p99: quantile(values, 0.99),
    floor: floor === undefined ? undefined : median(floor),
    ratio,
    limit,
    pass: limit === undefined ? undefined : measured <= limit,
    refused: guard !== undefined && !(measured <= guard) && !rest.advisory,
    absolute: rest.absolute === true,
    summary: rest.summary
  };
}

/**
 * A line that is true or false, or only told.
 * `floor` and `reach` are words for the summary table, as `summary` is.
 * @param {string} name
 * @param {boolean | undefined} pass
 * @param {string} text
 * @param {Record<string, string>} [options]
 */
export function fact(name, pass, text, { summary, floor, reach } = {}) {
  return { name, pass, text, refused: pass === false, summary, floor, reach };
}

/** What `--check` fails for. */
export function refusedIn({ title, rows }) {
  return rows
    .filter(({ refused }) => refused)
    .map(({ name }) => `${title}: ${name}`);
}

/** A report as a markdown table; also what a terminal shows. */
export function tableOf({ title, rows, notes = [] }) {
  const head =
    '| what | n | median | p10 | p90 | p99 | floor | ratio | limit | verdict |';
  const lines = rows.map((line) =>
    line.text === undefined
      ? `| ${line.name} | ${line.n} | ${figure(line.median)} ${line.unit} | ${figure(line.p10)} | ${figure(line.p90)} | ${figure(line.p99)} | ${figure(line.floor)} | ${ratioOf(line.ratio)} | ${limitOf(line)} | ${verdictOf(line)} |`
      : `| ${line.name} | | ${line.text} | | | | | | | ${verdictOf(line)} |`
  );
  return [
    `## ${title}`,
    '',
    head,
    '|---|---|---|---|---|---|---|---|---|---|',
    ...lines,
    ...(notes.length > 0 ? ['', ...notes.map((note) => `- ${note}`)] : []),
    ''
  ].join('\n');
}

function verdictOf({ pass }) {
  if (pass === undefined) return 'no limit';
  return pass ? 'PASS' : '**FAIL**';
}

export function limitOf({ limit, absolute, unit }) {
  if (limit === undefined) return '–';
  return absolute ? `≤ ${limit} ${unit}` : `≤ ${limit}×`;
}

export function ratioOf(ratio) {
  return ratio === undefined ? '–' : `${ratio.toFixed(2)}×`;
}

export function figure(value) {
  if (value === undefined || Number.isNaN(value)) return '–';
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2);
}
