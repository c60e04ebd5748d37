package engine

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatefold/gatefold/watcher"
)

// watchFigures returns the metrics of how the folder is watched.
func watchFigures(stats *watcher.Stats) []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	counter := func(name, help string, count *atomic.Int64, unit float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
			func() float64 { return float64(count.Load()) / unit })
	}
	return []prometheus.Collector{
		gauge("gatefold_watch_announced", "1 while the system announces all changes of the folder by events, 0 where scans have to find them.", func() float64 {
			if stats.Announced.Load() {
				return 1
			}
			return 0
		}),
		gauge("gatefold_watch_directories", "Directories whose events are listened to.", func() float64 {
			return float64(stats.Directories.Load())
		}),
		counter("gatefold_watch_scans_total", "Scans of the whole folder.", &stats.Scans, 1),
		counter("gatefold_watch_scan_cpu_seconds_total", "CPU time of the scans of the whole folder.", &stats.ScanTime, float64(time.Second)),
		counter("gatefold_watch_lost_events_total", "How often the system dropped events; the whole folder was scanned instead.", &stats.Lost, 1),
		counter("gatefold_watch_unannounced_changes_total", "Changes that a scan found though no event had announced them.", &stats.Unannounced, 1),
	}
}
