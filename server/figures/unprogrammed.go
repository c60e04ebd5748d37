package figures

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/store/manifest"
)

// unprogrammed has the metrics of Gateways and listeners that are not programmed. The numbers are computed when
// metrics are read, because answers of Envoys change them.
type unprogrammed struct {
	board               *board.Board
	gateways, listeners *prometheus.Desc
}

// FollowBoard adds the metrics of how many Gateways and listeners are not programmed. When metrics are read, the
// numbers are computed from the statuses of the board (the parameter shown).
func (m *Set) FollowBoard(shown *board.Board) {
	m.Registry.MustRegister(&unprogrammed{
		shown,
		prometheus.NewDesc("gatefold_gateways_not_programmed", "Gateways whose condition Programmed is not True.", nil, nil),
		prometheus.NewDesc("gatefold_listeners_not_programmed", "Listeners of Gateways and ListenerSets whose condition Programmed is not True.", nil, nil),
	})
}

// Describe implements prometheus.Collector.
func (u *unprogrammed) Describe(to chan<- *prometheus.Desc) {
	to <- u.gateways
	to <- u.listeners
}

// Collect implements prometheus.Collector.
func (u *unprogrammed) Collect(to chan<- prometheus.Metric) {
	gateways, listeners := 0, 0
	list := u.board.List(func(key manifest.Key) bool {
		return key.Group == gwv1.GroupName && (key.Kind == "Gateway" || key.Kind == "ListenerSet")
	})
	for _, item := range list.Items {
		switch s := item.Status.(type) {
		case *gwv1.GatewayStatus:
			if !isProgrammed(s.Conditions) {
				gateways++
			}
			for _, l := range s.Listeners {
				if !isProgrammed(l.Conditions) {
					listeners++
				}
			}
		case *gwv1.ListenerSetStatus:
			for _, l := range s.Listeners {
				if !isProgrammed(l.Conditions) {
					listeners++
				}
			}
		}
	}
	to <- prometheus.MustNewConstMetric(u.gateways, prometheus.GaugeValue, float64(gateways))
	to <- prometheus.MustNewConstMetric(u.listeners, prometheus.GaugeValue, float64(listeners))
}

// isProgrammed reports whether the condition Programmed is True.
func isProgrammed(conditions []metav1.Condition) bool {
	return meta.IsStatusConditionTrue(conditions, string(gwv1.GatewayConditionProgrammed))
}
