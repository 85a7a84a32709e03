// Takes out of uPlot what no chart here needs, before it is bundled: a legend, zooming, filled bands,
// bars, and scales of time or logarithm. That is a quarter of it. Each piece is named by its text, and
// one that is not there any more is an error: a new version of uPlot is looked at before it is taken.

/** Conditions that have one answer for every chart of `Chart.svelte`: the minifier drops the rest. */
const ANSWERS: [RegExp, string][] = [
  // Series share one x axis, which lies below them and is linear.
  [/\bmode == 1\b/g, 'true'],
  [/\bmode == 2\b/g, 'false'],
  [/\b(scaleX|sx)\.ori == 0\b/g, 'true'],
  [/\bscaleX\.ori == 1\b/g, 'false'],
  [/\b((sc|wsc|scale|scaleX)\.distr|distr|xScaleDistr) +(==|>=) +(2|3|4|100)\b/g, 'false'],
  [/\bisTime\b(?! =)/g, 'false'],
  [/\bscaleX\.time\b/g, 'false'],
  // No scale is made of another one.
  [/\b(sc|wsc|scaleOpts)\.from != null/g, 'false'],
  [/\b(sc|wsc)\.from == null/g, 'true'],
  // The chart has no legend, selects nothing, and points are on each line.
  [/\bshowLegend\b(?! =)/g, 'false'],
  [/\blegend\.(live|show)\b/g, 'false'],
  [/\bmultiValLegend\b(?! =)/g, 'false'],
  [/\bselect\.show\b/g, 'false'],
  [/\bdragging\b(?! =)(?=[ )])/g, 'false'],
  [/\b(cursorFocus|cursorOnePt)\b(?! =)/g, 'false'],
  [/\bshouldAlpha\b(?! =)/g, 'false'],
  // Lines only: nothing is filled.
  [/series\.fill != null \|\| bandFillDir != 0/g, 'false'],
  [/\bbandClipDir != 0/g, 'false'],
  [/if \(bandClip\)/g, 'if (false)'],
  [/ \|\| bandClip\)/g, ')'],
  [/flags != 0 && bands/g, 'false && bands'],
]

/** Functions that are never called then, or have nothing to do. */
const UNCALLED = [
  'addBand', 'addSeries', 'allHeadersSame', 'asinhAxisSplits', 'bandFillClipDirs', 'clipBandLine', 'dblClick', 'delBand',
  'delSeries', 'doFill', 'fmtDate', 'genTimeStuffs', 'hideSelect', 'initLegendRow', 'isAsc', 'join', 'legendFill',
  'legendStroke', 'log10AxisValsFilt', 'log2AxisValsFilt', 'logAxisSplits', 'mouseDown', 'mouseUp', 'nullExpand',
  'numSeriesVal', 'points', '_rangeNum', 'rangeAsinh', 'rangeLog', 'rangeNum', 'seriesFillTo', 'seriesPointsShow', 'setAlpha', 'setBand',
  'setFocus', 'setLegend', 'setLegendValues', 'setSelect', 'setSelH', 'setSelV', 'setSeries', 'snapAsinhY', 'snapLogY',
  'sortCols', 'syncLegend', 'timeAxisStamps', 'timeAxisVal', 'timeAxisVals', 'timeSeriesStamp', 'timeSeriesVal', 'toggleDOM',
  'tzDate',
]

/** Statements that are of no use then. */
const UNUSED = [
  'const [ timeIncrsMs, _timeAxisStampsMs, timeAxisSplitsMs ] = genTimeStuffs(1);',
  'const [ timeIncrsS,  _timeAxisStampsS,  timeAxisSplitsS  ] = genTimeStuffs(1e-3);',
  'const _tzDate  = (opts.tzDate || (ts => new Date(round(ts / ms))));',
  'const _fmtDate = (opts.fmtDate || fmtDate);',
  'const _timeAxisSplits = (ms == 1 ? timeAxisSplitsMs(_tzDate) : timeAxisSplitsS(_tzDate));',
  'const _timeAxisVals   = timeAxisVals(_tzDate, timeAxisStamps((ms == 1 ? _timeAxisStampsMs : _timeAxisStampsS), _fmtDate));',
  'const _timeSeriesVal  = timeSeriesVal(_tzDate, timeSeriesStamp(_timeSeriesStamp, _fmtDate));',
  'let [ bandFillDir, bandClipDir ] = bandFillClipDirs(u, seriesIdx);',
  '[_min, _max] = rangeNum(_min, _max, rangePad, true);',
  'uPlot.rangeNum = rangeNum;', 'uPlot.rangeLog = rangeLog;', 'uPlot.rangeAsinh = rangeAsinh;', 'uPlot.orient   = orient;',
  'uPlot.fmtNum = fmtNum;', 'uPlot.join = join;', 'uPlot.fmtDate = fmtDate;', 'uPlot.tzDate  = tzDate;',
  'uPlot.addGap = addGap;', 'uPlot.clipGaps = clipGaps;',
  '(paths.stepped = stepped);', '(paths.bars    = bars);', '(paths.spline  = monotoneCubic);',
]

const gone = (what: unknown) => new Error(`uPlot has no '${what}' any more: see scripts/smaller-uplot.ts`)

export function smaller(code: string): string {
  let rest = code
  for (const text of UNUSED) {
    if (!rest.includes(text)) throw gone(text)
    rest = rest.replace(text, ';')
  }
  for (const name of UNCALLED) {
    const whole = new RegExp(`^(\\t*)function ${name}\\([^]*?^\\1}$`, 'm')
    if (!whole.test(rest)) throw gone(name)
    rest = rest.replace(whole, `$1function ${name}() {}`)
  }
  for (const [condition, answer] of ANSWERS) {
    if (!rest.match(condition)) throw gone(condition)
    rest = rest.replaceAll(condition, answer)
  }
  return rest
}
