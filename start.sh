cd /tmp/st/w
/tmp/st/gatefold serve ./f --envoy --envoy-path /root/.cache/gatefold/envoy/1.40.0-a88a3ed5b48b/envoy --envoy-run-dir /tmp/st/w/run --state-dir /tmp/st/w/state --admin-address unix:/tmp/st/w/admin.sock >serve.log 2>&1 &
echo $! > serve.pid
